// Stands between torch and the CUDA runtime, for a machine without a driver: one card of compute
// capability 9.0 that is asked for its properties, streams and events, and never computes.
//
// Autograd asks for the stream of a tensor's device and SDPA for the card's properties, even when
// every tensor is fake. Nothing here allocates: a real tensor on the card is an error.
//
// Built by ./install as libcuda.so.1, the name under which torch opens the driver; preloaded.

#include <cuda_runtime_api.h>
#include <string.h>

cudaError_t cudaGetDeviceCount(int* count) { return *count = 1, cudaSuccess; }
cudaError_t cudaGetDevice(int* device) { return *device = 0, cudaSuccess; }
cudaError_t cudaSetDevice(int device) { return device == 0 ? cudaSuccess : cudaErrorInvalidDevice; }
cudaError_t cudaDriverGetVersion(int* version) { return *version = CUDART_VERSION, cudaSuccess; }
cudaError_t cudaGetLastError(void) { return cudaSuccess; }
cudaError_t cudaPeekAtLastError(void) { return cudaSuccess; }

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp* prop, int device) {
  if (device != 0) return cudaErrorInvalidDevice;
  memset(prop, 0, sizeof *prop);
  strcpy(prop->name, "no card");
  prop->totalGlobalMem = (size_t)80 << 30;
  prop->major = 9;
  prop->minor = 0;
  prop->multiProcessorCount = 132;
  prop->warpSize = 32;
  prop->maxThreadsPerBlock = 1024;
  prop->maxThreadsPerMultiProcessor = 2048;
  prop->sharedMemPerBlock = 49152;
  prop->sharedMemPerBlockOptin = 232448;
  prop->sharedMemPerMultiprocessor = 233472;
  prop->regsPerMultiprocessor = 65536;
  prop->l2CacheSize = 50 << 20;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, enum cudaDeviceAttr attribute, int device) {
  (void)device;
  *value = 0;
  if (attribute == cudaDevAttrComputeCapabilityMajor) *value = 9;
  if (attribute == cudaDevAttrMultiProcessorCount) *value = 132;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return *least = 0, *greatest = -5, cudaSuccess;
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  (void)flags, (void)priority;
  static char streams[4096];
  static int next;
  return *stream = (cudaStream_t)&streams[next++ % 4096], cudaSuccess;
}
cudaError_t cudaStreamQuery(cudaStream_t stream) { return (void)stream, cudaSuccess; }
cudaError_t cudaStreamSynchronize(cudaStream_t stream) { return (void)stream, cudaSuccess; }
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus* status) {
  return (void)stream, *status = cudaStreamCaptureStatusNone, cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
  return (void)stream, (void)event, (void)flags, cudaSuccess;
}
cudaError_t cudaDeviceSynchronize(void) { return cudaSuccess; }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  static char one;
  return (void)flags, *event = (cudaEvent_t)&one, cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return (void)event, (void)stream, cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) { return (void)event, cudaSuccess; }
cudaError_t cudaEventSynchronize(cudaEvent_t event) { return (void)event, cudaSuccess; }
cudaError_t cudaEventDestroy(cudaEvent_t event) { return (void)event, cudaSuccess; }
cudaError_t cudaDeviceCanAccessPeer(int* can, int a, int b) {
  return (void)a, (void)b, *can = 0, cudaSuccess;
}
cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  return *free = *total = (size_t)80 << 30, cudaSuccess;
}
cudaError_t cudaMalloc(void** pointer, size_t size) {
  return (void)size, *pointer = 0, cudaErrorMemoryAllocation;
}

// The driver's own functions, of which one is asked: whether the card has a context. It has none,
// so autograd leaves its streams alone.
int cuDevicePrimaryCtxGetState(int device, unsigned* flags, int* active) {
  return (void)device, *flags = 0, *active = 0, 0;
}
static int Nothing(void) { return 0; }
cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned version,
                                             unsigned long long flags,
                                             enum cudaDriverEntryPointQueryResult* status) {
  (void)version, (void)flags;
  *function = strcmp(symbol, "cuDevicePrimaryCtxGetState") == 0
                  ? (void*)cuDevicePrimaryCtxGetState
                  : (void*)Nothing;
  if (status != 0) *status = cudaDriverEntryPointSuccess;
  return cudaSuccess;
}
