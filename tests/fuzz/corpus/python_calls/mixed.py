a(b=-1, c="x" "y", d=g(h=1), *e, **k)
