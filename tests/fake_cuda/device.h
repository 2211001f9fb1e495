/* Devices that are none: their memory, streams and events, and which of them is current.

   Two tricks make mistakes fail every time:
   - Device memory is mapped twice. The address that is handed out allows no access, so a host that reads it dies;
     copies go through a second, private mapping. A freed address stays reserved: a stale pointer fails for ever.
   - Streams are lazy. Queued work runs when something synchronises and not before: a forgotten wait sees the old bytes.

   Must not know: names of CUDA's functions, which are in stand_in.c. Whoever calls holds its lock. */

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef uintptr_t Address; /* CUdeviceptr */
typedef uintptr_t Handle;  /* of a stream or an event: a number, never used again */

enum { /* CUresult and cudaError_t agree on these */
    OK = 0, INVALID_VALUE = 1, NO_MEMORY = 2, WRONG_DIRECTION = 21, NO_DEVICE = 100, INVALID_DEVICE = 101,
    NO_CONTEXT = 201, INVALID_HANDLE = 400, NOT_FOUND = 500, NOT_READY = 600, NOT_SUPPORTED = 801,
};
enum { MOST = 8, DEEP = 16, PAGE = 4096, TOTAL = 1 << 30 };

static int devices = 2; /* MOST at most */
static int strict = 1;  /* a default stream does not drain others, as CUDA's legacy stream does */

/* ---- Contexts: one a device, by thread. */

static char primary[MOST];                 /* the context of a device is the address of its element */
static __thread int contexts[DEEP], depth; /* as numbers of devices; the top is current */

static int current(void) { return depth ? contexts[depth - 1] : 0; }

static int set_device(int device, int push) {
    if (device < 0 || device >= devices || (push && depth == DEEP))
        return INVALID_DEVICE;
    depth += push || !depth;
    contexts[depth - 1] = device;
    return OK;
}

static int set_context(const char *context, int push) {
    if (context)
        return set_device(context - primary, push);
    depth -= depth > 0;
    return OK;
}

static int pop_context(char **out) {
    if (!depth)
        return NO_CONTEXT;
    if (out)
        *out = &primary[current()];
    return set_context(NULL, 0);
}

/* ---- Memory. */

enum { UNREGISTERED, PINNED, DEVICE, MANAGED }; /* as cudaMemoryType */

typedef struct Block {
    struct Block *next;
    Address address;
    size_t size, capacity;
    char *shadow; /* NULL once freed */
    int kind, device, number;
} Block;

static Block *blocks; /* freed ones too */
static size_t used[MOST];

static Block *find(Address p, size_t size) { /* the block that holds all of these bytes, one at least */
    for (Block *b = blocks; b; b = b->next)
        if (b->shadow && p >= b->address && p - b->address < b->size)
            return size <= b->size - (p - b->address) ? b : NULL;
    return NULL;
}

static char *reach(Address p, size_t size) { /* where a copy touches these bytes; NULL if freed or beyond a block */
    Block *inside = find(p, size);
    if (inside)
        return inside->shadow + (p - inside->address);
    for (Block *b = blocks; b; b = b->next)
        if (p >= b->address && p - b->address < b->capacity)
            return NULL;
    return (char *)p;
}

static int allocate(Address *out, size_t size, int kind) {
    size_t capacity = (size + PAGE - 1) / PAGE * PAGE;
    int device = current(), file, access = kind == DEVICE ? PROT_NONE : PROT_READ | PROT_WRITE;
    char *shadow = MAP_FAILED, *given = MAP_FAILED;
    if (size > TOTAL - used[device] || (file = memfd_create("device memory", MFD_CLOEXEC)) < 0)
        return NO_MEMORY;
    if (ftruncate(file, capacity) == 0) {
        shadow = mmap(NULL, capacity, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        given = mmap(NULL, capacity, access, MAP_SHARED, file, 0);
    }
    close(file);
    if (shadow == MAP_FAILED || given == MAP_FAILED)
        return NO_MEMORY;
    Block *b = malloc(sizeof *b);
    *b = (Block){blocks, (Address)given, size, capacity, shadow, kind, device, blocks ? blocks->number + 1 : 1};
    blocks = b;
    used[device] += size;
    memset(shadow, 0xCD, capacity);
    *out = b->address;
    return OK;
}

static int release(Address p, int pinned) {
    for (Block *b = blocks; b; b = b->next)
        if (b->shadow && b->address == p && (b->kind == PINNED) == pinned) {
            munmap(b->shadow, b->capacity);
            b->shadow = NULL;
            used[b->device] -= b->size;
            mmap((void *)p, b->capacity, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
            return OK;
        }
    return INVALID_VALUE;
}

/* ---- Streams and events. */

typedef struct { /* one recording of an event: whoever waits holds it, so that the event may be destroyed meanwhile */
    struct Stream *stream;
    int done, references;
} Moment;

typedef struct Work {
    struct Work *next;
    enum { COPY, FILL, RECORD, WAIT } what;
    Address to, from;
    size_t size;
    int value;
    Moment *moment;
} Work;

typedef struct Stream {
    struct Stream *next;
    Handle handle;
    int device, flags;
    enum { DEFAULT, MADE, DESTROYED } state; /* what was queued is still to be done after that */
    pthread_t thread;                        /* of a per-thread default stream */
    Work *first, **last;
} Stream;

typedef struct Event {
    struct Event *next;
    Handle handle;
    int device;
    Moment *recorded; /* the last time */
} Event;

static Stream *streams; /* destroyed ones too */
static Event *events;
static Handle handles = 0x10000;

static void drop(Moment *m) {
    if (m && --m->references == 0)
        free(m);
}

static int copy(Address to, Address from, size_t size) {
    char *target = reach(to, size), *source = reach(from, size);
    return size == 0 || (target && source && memmove(target, source, size)) ? OK : INVALID_VALUE;
}

static int fill(Address to, int value, size_t size) {
    char *target = reach(to, size);
    return size == 0 || (target && memset(target, value, size)) ? OK : INVALID_VALUE;
}

static int run(Stream *s, const Moment *until) { /* oldest first; the caller holds the moment */
    int worst = OK;
    for (Work *w; (w = s->first) && !(until && until->done); free(w)) {
        if (!(s->first = w->next))
            s->last = &s->first;
        int status = OK;
        switch (w->what) {
        case COPY: status = copy(w->to, w->from, w->size); break;
        case FILL: status = fill(w->to, w->value, w->size); break;
        case RECORD: w->moment->done = 1; break;
        case WAIT: status = w->moment->done ? OK : run(w->moment->stream, w->moment); break;
        }
        drop(w->moment);
        worst = status ? status : worst;
    }
    return worst;
}

static void abandon(void) { /* what is queued is never done: the host memory that it reads and writes may be gone */
    for (Stream *s = streams; s; s = s->next) {
        for (Work *w; (w = s->first); free(w)) {
            s->first = w->next;
            if (w->moment)
                w->moment->done = 1;
            drop(w->moment);
        }
        s->last = &s->first;
    }
}

static int run_all(int device, int blocking_only) {
    int worst = OK, status;
    for (Stream *s = streams; s; s = s->next)
        if (s->device == device && !(blocking_only && s->flags & 1) && (status = run(s, NULL)))
            worst = status;
    return worst;
}

static Stream *new_stream(Handle handle, unsigned flags) {
    Stream *s = malloc(sizeof *s);
    *s = (Stream){streams, handle, current(), flags, handle > 2 ? MADE : DEFAULT, pthread_self(), NULL, &s->first};
    return streams = s;
}

/* NULL for what is none. 0 and 1 name the legacy stream, 2 that of the thread, each *of the current device*. */
static Stream *stream_of(Handle handle) {
    handle = handle ? handle : 1;
    for (Stream *s = streams; s; s = s->next)
        if (s->handle == handle && s->state != DESTROYED &&
            (handle > 2 || (s->device == current() && (handle == 1 || pthread_equal(s->thread, pthread_self())))))
            return s;
    return handle > 2 ? NULL : new_stream(handle, 0);
}

static int make_stream(Handle *out, unsigned flags) {
    *out = new_stream(handles++, flags)->handle;
    return OK;
}

static int destroy_stream(Handle handle) { /* no wait: whoever takes it for one sees the old bytes */
    Stream *s = stream_of(handle);
    if (!s || s->state != MADE)
        return INVALID_HANDLE;
    s->state = DESTROYED;
    return OK;
}

static int synchronise(Handle handle) {
    Stream *s = stream_of(handle);
    if (!s)
        return INVALID_HANDLE;
    int before = s->handle == 1 && !strict ? run_all(s->device, 1) : OK;
    int status = run(s, NULL);
    return status ? status : before;
}

static int query(Handle handle) {
    Stream *s = stream_of(handle);
    return !s ? INVALID_HANDLE : s->first ? NOT_READY : OK;
}

static int push(Handle handle, Work work) {
    Stream *s = stream_of(handle);
    if (!s)
        return INVALID_HANDLE;
    Work *w = *s->last = malloc(sizeof *w);
    *w = work;
    s->last = &w->next;
    return OK;
}

static Event *event_of(Handle handle) {
    for (Event *e = events; e; e = e->next)
        if (e->handle == handle)
            return e;
    return NULL;
}

static int make_event(Handle *out) {
    Event *e = malloc(sizeof *e);
    *e = (Event){events, *out = handles++, current(), NULL};
    events = e;
    return OK;
}

static int destroy_event(Handle handle) {
    for (Event **place = &events, *e; (e = *place); place = &e->next)
        if (e->handle == handle) {
            *place = e->next;
            drop(e->recorded);
            free(e);
            return OK;
        }
    return INVALID_HANDLE;
}

static int record(Handle event, Handle stream) { /* both of one device */
    Event *e = event_of(event);
    Stream *s = stream_of(stream);
    if (!e || !s || e->device != s->device)
        return INVALID_HANDLE;
    drop(e->recorded);
    e->recorded = malloc(sizeof *e->recorded);
    *e->recorded = (Moment){s, 0, 2};
    return push(stream, (Work){.what = RECORD, .moment = e->recorded});
}

static int wait_event(Handle stream, Handle event) { /* for the last recording so far: the next one changes nothing */
    Event *e = event_of(event);
    if (!e || !stream_of(stream))
        return INVALID_HANDLE;
    if (!e->recorded)
        return OK;
    e->recorded->references++;
    return push(stream, (Work){.what = WAIT, .moment = e->recorded});
}

static int look_at_event(Handle event, int wait) {
    Event *e = event_of(event);
    if (!e)
        return INVALID_HANDLE;
    if (!e->recorded || e->recorded->done)
        return OK;
    return wait ? run(e->recorded->stream, e->recorded) : NOT_READY;
}

/* ---- Copies. The bits of a cudaMemcpyKind up to 3 say which of both is on the device; 4 lets the addresses say it. */

static int on_side(Address p, size_t size, int device) { /* pinned and managed memory is on both */
    Block *b = find(p, size);
    return device ? b != NULL : !b || b->kind != DEVICE;
}

static int may_copy(Address to, Address from, size_t size, int kind) {
    if (kind < 0 || kind > 4)
        return WRONG_DIRECTION;
    if (size && kind < 4 && !(on_side(to, size, kind & 1) && on_side(from, size, kind >> 1)))
        return INVALID_VALUE;
    return size == 0 || (reach(to, size) && reach(from, size)) ? OK : INVALID_VALUE;
}

static int copy_now(Address to, Address from, size_t size, int kind) { /* on the legacy stream */
    int status = may_copy(to, from, size, kind);
    status = status ? status : synchronise(1);
    return status ? status : copy(to, from, size);
}

static int copy_later(Address to, Address from, size_t size, int kind, Handle stream) {
    int status = may_copy(to, from, size, kind);
    return status ? status : push(stream, (Work){.what = COPY, .to = to, .from = from, .size = size});
}

static int fill_later(Address to, int value, size_t size, Handle stream) {
    if (size && !find(to, size))
        return INVALID_VALUE;
    return push(stream, (Work){.what = FILL, .to = to, .value = value, .size = size});
}
