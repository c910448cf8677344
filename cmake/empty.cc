// Holds the precompiled headers (Precompiled.cmake).
