/* A stand-in for the CUDA driver and runtime, for machines without a GPU: enough of both to hand memory out, to copy it
   and to order that, over the devices of device.h. Written from NVIDIA's public documentation; what it may be trusted
   for is stated by the contract in asv_bench/gpu_check/contract.py.

   What it is not: no kernels, no concurrency (the worst order instead), no alignment, peers, graphs, pools, processes.
   Stricter than CUDA: default streams do not drain others unless `fake_set_strict(0)`, host memory is read when the
   copy runs, and freeing does not wait. Both interfaces share everything: load one file under both names. */

#define _GNU_SOURCE
#include "device.h"
#include <dlfcn.h>
#include <stdio.h>

#define EXPORT __attribute__((visibility("default")))

enum { VERSION = 13000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *calls;
static size_t calls_used, calls_room;
static char failing[64]; /* the function whose next call fails */
static int failure;
static __thread int last_error;

/* ---- Every call: one lock, one line in the log, and the failures that tests ask for. */

static int enter(const char *name) {
    pthread_mutex_lock(&lock);
    size_t size = strlen(name) + 2;
    if (calls_used + size > calls_room)
        calls = realloc(calls, calls_room = 2 * calls_room + 4096);
    calls_used += sprintf(calls + calls_used, "%s\n", name);
    if (strcmp(name, failing) == 0) {
        failing[0] = 0;
        return failure;
    }
    return devices ? OK : NO_DEVICE;
}

static int leave(int status) {
    pthread_mutex_unlock(&lock);
    return status;
}

static int leave_runtime(int status) { /* the runtime remembers what failed, by thread, until somebody asks */
    last_error = status ? status : last_error;
    return leave(status);
}

#define DEFINE(leave, name, parameters, ...)                   \
    EXPORT int name parameters {                               \
        int status = enter(#name);                             \
        return leave(status ? status : (__VA_ARGS__));         \
    }
#define DRIVER(name, parameters, ...) DEFINE(leave, name, parameters, __VA_ARGS__)
#define RUNTIME(name, parameters, ...) DEFINE(leave_runtime, name, parameters, __VA_ARGS__)

/* ---- What tests ask for, which is not CUDA's. */

EXPORT const char *fake_calls(void) { return calls_used ? calls : ""; } /* names of functions, one a line */
EXPORT void fake_forget_calls(void) { calls_used = 0; }
EXPORT size_t fake_used(int device) { return used[device]; } /* bytes of any kind allocated while it was current */
EXPORT void fake_set_strict(int on) { strict = on; }
EXPORT void fake_set_devices(int count) { devices = count; } /* MOST at most */

EXPORT int fake_events(void) {
    int count = 0;
    for (Event *e = events; e; e = e->next)
        count++;
    return count;
}

EXPORT int fake_streams(void) {
    int count = 0;
    for (Stream *s = streams; s; s = s->next)
        count += s->state == MADE;
    return count;
}

EXPORT void fake_fail_next(const char *name, int status) { /* instead of what was asked for before */
    snprintf(failing, sizeof failing, "%s", name);
    failure = status;
}

EXPORT void fake_reset(void) { /* all but memory, handles, and what is current */
    abandon();
    fake_forget_calls();
    fake_fail_next("", OK);
    devices = 2;
    strict = 1;
    last_error = OK;
}

/* ---- The runtime. */

static const struct Error { int status; const char *name, *text; } ERRORS[] = {
    {OK, "cudaSuccess", "no error"},
    {INVALID_VALUE, "cudaErrorInvalidValue", "invalid argument"},
    {NO_MEMORY, "cudaErrorMemoryAllocation", "out of memory"},
    {WRONG_DIRECTION, "cudaErrorInvalidMemcpyDirection", "invalid copy direction for memcpy"},
    {NO_DEVICE, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {INVALID_DEVICE, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {NO_CONTEXT, "cudaErrorDeviceUninitialized", "invalid device context"},
    {INVALID_HANDLE, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {NOT_FOUND, "cudaErrorSymbolNotFound", "named symbol not found"},
    {NOT_READY, "cudaErrorNotReady", "device not ready"},
    {700, "cudaErrorIllegalAddress", "an illegal memory access was encountered"},
    {NOT_SUPPORTED, "cudaErrorNotSupported", "operation not supported"},
    {-1, "unrecognized error code", "unrecognized error code"},
};

static const struct Error *error(int status) {
    const struct Error *e = ERRORS;
    while (e->status != status && e->status != -1)
        e++;
    return e;
}

typedef struct { int type, device; Address device_pointer, host_pointer; } Attributes; /* CUDA 13 has more, reserved */

static int attributes(Attributes *out, Address p) {
    Block *b = find(p, 1);
    Address host = b && b->kind == DEVICE ? 0 : p;
    *out = b ? (Attributes){b->kind, b->device, p, host} : (Attributes){UNREGISTERED, -2, 0, host};
    return OK;
}

static int forget_error(void) {
    int found = last_error;
    last_error = OK;
    return found;
}

EXPORT const char *cudaGetErrorName(int status) { return error(status)->name; }
EXPORT const char *cudaGetErrorString(int status) { return error(status)->text; }
EXPORT int cudaRuntimeGetVersion(int *version) { return *version = VERSION, OK; }
EXPORT int cudaDriverGetVersion(int *version) { return *version = VERSION, OK; }
DRIVER(cudaPeekAtLastError, (void), last_error) /* what it tells is no failure of its own */
DRIVER(cudaGetLastError, (void), forget_error())
RUNTIME(cudaGetDeviceCount, (int *count), (*count = devices, OK))
RUNTIME(cudaGetDevice, (int *device), (*device = current(), OK))
RUNTIME(cudaSetDevice, (int device), set_device(device, 0))
RUNTIME(cudaDeviceSynchronize, (void), run_all(current(), 0))
RUNTIME(cudaPointerGetAttributes, (Attributes *out, Address p), attributes(out, p))
RUNTIME(cudaMalloc, (Address *out, size_t size), (*out = 0, size ? allocate(out, size, DEVICE) : OK))
RUNTIME(cudaMallocHost, (Address *out, size_t size), (*out = 0, size ? allocate(out, size, PINNED) : OK))
RUNTIME(cudaMallocManaged, (Address *out, size_t size, int how), size ? allocate(out, size, MANAGED) : INVALID_VALUE)
RUNTIME(cudaFree, (Address p), p ? release(p, 0) : OK)
RUNTIME(cudaFreeHost, (Address p), p ? release(p, 1) : OK)
RUNTIME(cudaMemcpy, (Address to, Address from, size_t size, int kind), copy_now(to, from, size, kind))
RUNTIME(cudaMemcpyAsync, (Address to, Address from, size_t n, int kind, Handle s), copy_later(to, from, n, kind, s))
RUNTIME(cudaMemset, (Address to, int value, size_t size), fill_later(to, value, size, 1))
RUNTIME(cudaMemsetAsync, (Address to, int value, size_t size, Handle s), fill_later(to, value, size, s))
RUNTIME(cudaStreamCreateWithFlags, (Handle *out, unsigned flags), make_stream(out, flags))
RUNTIME(cudaStreamDestroy, (Handle s), destroy_stream(s))
RUNTIME(cudaStreamSynchronize, (Handle s), synchronise(s))
RUNTIME(cudaStreamQuery, (Handle s), query(s))
RUNTIME(cudaStreamWaitEvent, (Handle s, Handle e, unsigned flags), wait_event(s, e))
RUNTIME(cudaEventCreateWithFlags, (Handle *out, unsigned flags), make_event(out))
RUNTIME(cudaEventRecord, (Handle e, Handle s), record(e, s))
RUNTIME(cudaEventSynchronize, (Handle e), look_at_event(e, 1))
RUNTIME(cudaEventQuery, (Handle e), look_at_event(e, 0))
RUNTIME(cudaEventDestroy, (Handle e), destroy_event(e))

/* ---- The driver: what cuda.core and numba-cuda ask for. */

static int stream_context(Handle stream, char **out) {
    Stream *s = stream_of(stream);
    if (s)
        *out = &primary[s->device];
    return s ? OK : INVALID_HANDLE;
}

static int device_attribute(int what) { /* by CUdevice_attribute */
    switch (what) {
    case 1: return 1024; /* threads of a block, of a warp; processors */
    case 10: return 32;
    case 16: return 4;
    case 75: return 9; /* compute capability, two parts */
    case 76: return 0;
    case 115: return 0; /* no memory pools */
    default: return 1;
    }
}

static int pointer_attribute(void *out, int what, Address p) { /* by CUpointer_attribute */
    static const Block NONE = {.device = -2};
    const Block *b = find(p, 1);
    int known = b != NULL, on_host = b && b->kind != DEVICE;
    b = known ? b : &NONE;
    switch (what) {
    case 1: *(char **)out = known ? &primary[b->device] : NULL; break; /* context */
    case 2: *(int *)out = b->kind == MANAGED ? 2 : b->kind; break;     /* type of memory */
    case 3: *(Address *)out = known ? p : 0; break;                    /* address for the device, for the host */
    case 4: *(Address *)out = on_host ? p : 0; return on_host ? OK : INVALID_VALUE;
    case 7: *(uint64_t *)out = b->number; break; /* of the block; its device, start and size */
    case 9: *(int *)out = b->device; break;
    case 11: *(Address *)out = b->address; break;
    case 12: *(size_t *)out = b->size; break;
    case 8: *(int *)out = b->kind == MANAGED; return OK; /* no error for any pointer, as the memory pool */
    case 17: *(void **)out = NULL; return OK;
    default: return NOT_SUPPORTED;
    }
    return known ? OK : INVALID_VALUE;
}

static int pointer_attributes(unsigned count, int *what, void **out, Address p) { /* an unknown pointer is no error */
    int worst = OK;
    for (unsigned i = 0; i < count; i++)
        if (pointer_attribute(out[i], what[i], p) == NOT_SUPPORTED)
            worst = NOT_SUPPORTED;
    return worst;
}

EXPORT int cuGetErrorName(int status, const char **out) { return *out = error(status)->name, OK; } /* the runtime's */
EXPORT int cuGetErrorString(int status, const char **out) { return *out = error(status)->text, OK; }
DRIVER(cuInit, (unsigned flags), OK)
DRIVER(cuDriverGetVersion, (int *version), (*version = VERSION, OK))
DRIVER(cuDeviceGetCount, (int *count), (*count = devices, OK))
DRIVER(cuDeviceGet, (int *out, int i), i < 0 || i >= devices ? INVALID_DEVICE : (*out = i, OK))
DRIVER(cuDeviceGetName, (char *out, int size, int device), (snprintf(out, size, "stand-in, not a GPU"), OK))
DRIVER(cuDeviceGetUuid_v2, (char *out, int device), (memset(out, device + 1, 16), OK))
DRIVER(cuDeviceGetAttribute, (int *out, int what, int device), (*out = device_attribute(what), OK))
DRIVER(cuDevicePrimaryCtxRetain, (char **out, int i), i < 0 || i >= devices ? INVALID_DEVICE : (*out = &primary[i], OK))
DRIVER(cuDevicePrimaryCtxRelease_v2, (int device), OK)
DRIVER(cuCtxGetCurrent, (char **out), (*out = depth ? &primary[current()] : NULL, OK))
DRIVER(cuCtxSetCurrent, (char *context), set_context(context, 0))
DRIVER(cuCtxPushCurrent_v2, (char *context), set_context(context, 1))
DRIVER(cuCtxPopCurrent_v2, (char **out), pop_context(out))
DRIVER(cuCtxGetDevice, (int *out), depth ? (*out = current(), OK) : NO_CONTEXT)
DRIVER(cuCtxGetStreamPriorityRange, (int *least, int *most), (*least = *most = 0, OK))
DRIVER(cuCtxSynchronize, (void), run_all(current(), 0))
DRIVER(cuMemGetInfo_v2, (size_t *left, size_t *all), (*left = TOTAL - used[current()], *all = TOTAL, OK))
DRIVER(cuMemAlloc_v2, (Address *out, size_t size), size ? allocate(out, size, DEVICE) : INVALID_VALUE)
DRIVER(cuMemAllocManaged, (Address *out, size_t size, int how), size ? allocate(out, size, MANAGED) : INVALID_VALUE)
DRIVER(cuMemHostAlloc, (Address *out, size_t size, int how), size ? allocate(out, size, PINNED) : INVALID_VALUE)
DRIVER(cuMemFree_v2, (Address p), p ? release(p, 0) : OK)
DRIVER(cuMemFreeHost, (Address p), release(p, 1))
DRIVER(cuMemcpyHtoD_v2, (Address to, Address from, size_t size), copy_now(to, from, size, 1))
DRIVER(cuMemcpyDtoH_v2, (Address to, Address from, size_t size), copy_now(to, from, size, 2))
DRIVER(cuMemcpyDtoD_v2, (Address to, Address from, size_t size), copy_now(to, from, size, 3))
DRIVER(cuMemcpyAsync, (Address to, Address from, size_t size, Handle s), copy_later(to, from, size, 4, s))
DRIVER(cuMemcpyHtoDAsync_v2, (Address to, Address from, size_t size, Handle s), copy_later(to, from, size, 1, s))
DRIVER(cuMemcpyDtoHAsync_v2, (Address to, Address from, size_t size, Handle s), copy_later(to, from, size, 2, s))
DRIVER(cuMemsetD8Async, (Address to, unsigned char value, size_t size, Handle s), fill_later(to, value, size, s))
DRIVER(cuPointerGetAttribute, (void *out, int what, Address p), pointer_attribute(out, what, p))
DRIVER(cuPointerGetAttributes, (unsigned n, int *what, void **out, Address p), pointer_attributes(n, what, out, p))
DRIVER(cuStreamCreate, (Handle *out, unsigned flags), make_stream(out, flags))
DRIVER(cuStreamCreateWithPriority, (Handle *out, unsigned flags, int priority), make_stream(out, flags))
DRIVER(cuStreamGetCtx, (Handle s, char **out), stream_context(s, out))
DRIVER(cuStreamDestroy_v2, (Handle s), destroy_stream(s))
DRIVER(cuStreamSynchronize, (Handle s), synchronise(s))
DRIVER(cuStreamQuery, (Handle s), query(s))
DRIVER(cuStreamWaitEvent, (Handle s, Handle e, unsigned flags), wait_event(s, e))
DRIVER(cuEventCreate, (Handle *out, unsigned flags), make_event(out))
DRIVER(cuEventRecord, (Handle e, Handle s), record(e, s))
DRIVER(cuEventSynchronize, (Handle e), look_at_event(e, 1))
DRIVER(cuEventQuery, (Handle e), look_at_event(e, 0))
DRIVER(cuEventDestroy_v2, (Handle e), destroy_event(e))

EXPORT int cuGetProcAddress_v2(const char *name, void **out, int version, uint64_t flags, int *found) {
    char second[128];
    Dl_info self;
    dladdr(&lock, &self);
    void *library = dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD);
    snprintf(second, sizeof second, "%s_v2", name);
    *out = dlsym(library, name);
    *out = *out ? *out : dlsym(library, second);
    dlclose(library);
    if (found)
        *found = *out ? 0 : 1; /* CU_GET_PROC_ADDRESS_SUCCESS, _SYMBOL_NOT_FOUND */
    return *out ? OK : NOT_FOUND;
}

EXPORT int cuGetProcAddress(const char *name, void **out, int version, uint64_t flags) {
    return cuGetProcAddress_v2(name, out, version, flags, NULL);
}

/* The runtime's private tables are not imitated, so what links the real runtime statically does not run on this. */
EXPORT int cuGetExportTable(const void **out, const void *id) { return *out = NULL, NOT_FOUND; }
