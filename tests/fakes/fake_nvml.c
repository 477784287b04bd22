/* A pretend NVIDIA driver: what the real bindings (nvidia-ml-py) call, nothing more.
 *
 * Built as libnvidia-ml.so.1 and put first on LD_LIBRARY_PATH of the process under test.
 * It behaves as environment variables say:
 *   FAKE_NVML_COUNT=1               GPUs listed
 *   FAKE_NVML_UUIDS=a,b             uuids ("GPU-" or "MIG-" included); default GPU-fake-0, GPU-fake-1, ...
 *   FAKE_NVML_NAME=...              name, any bytes
 *   FAKE_NVML_ERRORS=f=3,g=6@5,h#1=15,*=999@40
 *                                   f always returns 3; g returns 6 from its 6th call on; h returns
 *                                   15 for GPU 1 only; every call returns 999 once 40 calls were made
 *   FAKE_NVML_BREAK_FILE=path, FAKE_NVML_BREAK_CODE=15
 *                                   every call returns the code from the moment that the file exists
 *   FAKE_NVML_LATER_S=6             so many seconds after the first call FAKE_NVML_LATER_X counts for X
 *   FAKE_NVML_{POWER_MW,INSTANT_MW,LIMIT_MW,DEFAULT_LIMIT_MW,GPU_PCT,MEM_PCT,RING_PERIOD_US,RING_N,
 *              GPM,DRAM_PCT,REASONS,MEM_CLOCK,SM_CLOCK,BUS_BITS,TEMPERATURE,USED_MIB,TOTAL_MIB}
 * nvmlDeviceGetTemperatureV and the throttle reasons are left out on purpose: a missing symbol.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef unsigned int u32;
typedef unsigned long long u64;
typedef union { double d; u32 u; u64 ull; } value_t;
typedef struct { u64 t_us; value_t value; } sample_t;
typedef struct { u32 field, scope; long long t, latency; u32 type, ret; value_t value; } field_t;
typedef struct { u32 id, ret; double value; const char *s, *l, *unit; } gpm_metric_t;
typedef struct { u32 version, n; void *a, *b; gpm_metric_t metrics[]; } gpm_get_t;
typedef struct { char legacy[16]; u32 domain, bus, device, id, sub; char bus_id[32]; } pci_t;

static u64 total_calls;
static struct { char name[64]; u64 n; } calls[64];

static u64 now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_BOOTTIME, &t);
    return (u64)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static long num(const char *name, long otherwise) {
    static u64 first_us;
    char key[64];
    const char *text = NULL, *later_s = getenv("FAKE_NVML_LATER_S");
    if (!first_us) first_us = now_us();
    if (later_s && now_us() - first_us > strtod(later_s, NULL) * 1e6) {
        snprintf(key, sizeof key, "FAKE_NVML_LATER_%s", name);
        text = getenv(key);
    }
    snprintf(key, sizeof key, "FAKE_NVML_%s", name);
    if (!text) text = getenv(key);
    return text ? strtol(text, NULL, 0) : otherwise;
}

u64 fake_nvml_calls(const char *name) { /* for tests: how often was it called ("": all)? */
    if (!*name) return total_calls;
    for (int i = 0; i < 64; i++) if (!strcmp(calls[i].name, name)) return calls[i].n;
    return 0;
}

static int gate(const char *name, int gpu) { /* counts the call; the code it shall return */
    int i = 0, code = 0;
    u64 n;
    while (i < 63 && calls[i].name[0] && strcmp(calls[i].name, name)) i++;
    strncpy(calls[i].name, name, 63);
    n = ++calls[i].n;
    total_calls++;
    char rules[1024], *save = NULL;
    const char *text = getenv("FAKE_NVML_ERRORS");
    snprintf(rules, sizeof rules, "%s", text ? text : "");
    for (char *rule = strtok_r(rules, ",", &save); rule; rule = strtok_r(NULL, ",", &save)) {
        char *equals = strchr(rule, '='), *at = strchr(rule, '@'), *only = strchr(rule, '#');
        if (!equals) continue;
        *equals = 0;
        if (only) *only = 0;
        if (only && atoi(only + 1) != gpu) continue;
        int any = !strcmp(rule, "*");
        if (!any && strcmp(rule, name)) continue;
        if (any && (!strncmp(name, "nvmlInit", 8) || !strcmp(name, "nvmlShutdown"))) continue;
        if ((any ? total_calls : n) > (u64)(at ? atoll(at + 1) : 0)) code = atoi(equals + 1);
    }
    const char *broken = getenv("FAKE_NVML_BREAK_FILE");
    if (broken && strcmp(name, "nvmlShutdown") && !access(broken, F_OK)) code = (int)num("BREAK_CODE", 999);
    return code;
}

#define GPU(handle) ((int)(size_t)(handle) - 1)
#define SYS() do { int e = gate(__func__, -1); if (e) return e; } while (0)
#define DEV(handle) do { int e = gate(__func__, GPU(handle)); if (e) return e; } while (0)
#define NUMBER(function, type, name, otherwise) \
    int function(void *gpu, type *out) { DEV(gpu); *out = (type)num(name, otherwise); return 0; }

static void uuid_of(int index, char *out, u32 size) {
    char list[512], *save = NULL;
    const char *text = getenv("FAKE_NVML_UUIDS");
    snprintf(out, size, "GPU-fake-%d", index);
    snprintf(list, sizeof list, "%s", text ? text : "");
    char *item = strtok_r(list, ",", &save);
    for (int i = 0; item && i < index; i++) item = strtok_r(NULL, ",", &save);
    if (item) snprintf(out, size, "%s", item);
}

int nvmlInitWithFlags(u32 flags) { (void)flags; SYS(); return 0; }
int nvmlShutdown(void) { SYS(); return 0; }
const char *nvmlErrorString(int code) { static char s[32]; snprintf(s, 32, "fake error %d", code); return s; }
int nvmlSystemGetDriverVersion(char *out, u32 n) { SYS(); snprintf(out, n, "570.00"); return 0; }
int nvmlDeviceGetCount_v2(u32 *out) { SYS(); *out = (u32)num("COUNT", 1); return 0; }
int nvmlDeviceGetHandleByIndex_v2(u32 i, void **out) { SYS(); *out = (void *)(size_t)(i + 1); return 0; }
int nvmlDeviceGetIndex(void *gpu, u32 *out) { DEV(gpu); *out = (u32)GPU(gpu); return 0; }
int nvmlDeviceGetUUID(void *gpu, char *out, u32 n) { DEV(gpu); uuid_of(GPU(gpu), out, n); return 0; }

int nvmlDeviceGetHandleByUUID(const char *uuid, void **out) {
    SYS();
    for (int i = 0; i < num("COUNT", 1); i++) {
        char mine[96];
        uuid_of(i, mine, sizeof mine);
        if (!strcmp(mine, uuid)) { *out = (void *)(size_t)(i + 1); return 0; }
    }
    return 6;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *id, void **out) {
    SYS();
    int i = -1;
    if (sscanf(id, "00000000:%x:00.0", &i) != 1 || i < 0 || i >= num("COUNT", 1)) return 6;
    *out = (void *)(size_t)(i + 1);
    return 0;
}

int nvmlDeviceGetPciInfo_v3(void *gpu, pci_t *out) {
    DEV(gpu);
    memset(out, 0, sizeof *out);
    snprintf(out->bus_id, 32, "00000000:%02X:00.0", GPU(gpu));
    return 0;
}

int nvmlDeviceGetName(void *gpu, char *out, u32 n) {
    DEV(gpu);
    const char *name = getenv("FAKE_NVML_NAME");
    snprintf(out, n, "%s", name ? name : "Fake A100");
    return 0;
}

int nvmlDeviceGetUtilizationRates(void *gpu, u32 *out) {
    DEV(gpu);
    out[0] = (u32)num("GPU_PCT", 97);
    out[1] = (u32)num("MEM_PCT", 45);
    return 0;
}

int nvmlDeviceGetSamples(void *gpu, u32 kind, u64 since, u32 *type, u32 *count, sample_t *out) {
    DEV(gpu);
    u64 period = (u64)num("RING_PERIOD_US", 100000), last = now_us() / period;
    u32 want = (u32)num("RING_N", 20), n = 0;
    *type = 1;
    for (u32 i = 0; i < want; i++) {
        u64 t = (last - want + 1 + i) * period;
        if (t <= since) continue;
        if (out && n < *count) {
            out[n].t_us = t;
            out[n].value.ull = 0;
            out[n].value.u = (u32)(kind == 1 ? num("GPU_PCT", 97) : num("MEM_PCT", 45));
        }
        n++;
    }
    if (!n) return 6;
    *count = out && n > *count ? *count : n;
    return 0;
}

int nvmlDeviceGetFieldValues(void *gpu, int n, field_t *fields) {
    DEV(gpu);
    long mw = num("INSTANT_MW", 250000);
    for (int i = 0; i < n; i++) {
        fields[i].ret = mw < 0 ? 3 : 0;
        fields[i].type = 1;
        fields[i].value.u = (u32)mw;
    }
    return 0;
}

NUMBER(nvmlDeviceGetPowerUsage, u32, "POWER_MW", 240000)
NUMBER(nvmlDeviceGetEnforcedPowerLimit, u32, "LIMIT_MW", 300000)
NUMBER(nvmlDeviceGetPowerManagementDefaultLimit, u32, "DEFAULT_LIMIT_MW", 400000)
NUMBER(nvmlDeviceGetMemoryBusWidth, u32, "BUS_BITS", 5120)
NUMBER(nvmlDeviceGetCurrentClocksEventReasons, u64, "REASONS", 4)

int nvmlDeviceGetTotalEnergyConsumption(void *gpu, u64 *out) {
    DEV(gpu);
    *out = now_us() / 1000 * (u64)num("POWER_MW", 240000) / 1000;
    return 0;
}

static int clock_of(int kind) { return (int)(kind == 2 ? num("MEM_CLOCK", 1593) : num("SM_CLOCK", 1410)); }
int nvmlDeviceGetClockInfo(void *gpu, int kind, u32 *out) { DEV(gpu); *out = (u32)clock_of(kind); return 0; }
int nvmlDeviceGetMaxClockInfo(void *gpu, int kind, u32 *out) { DEV(gpu); *out = (u32)clock_of(kind); return 0; }
int nvmlDeviceGetTemperature(void *gpu, int sensor, u32 *out) {
    (void)sensor; DEV(gpu); *out = (u32)num("TEMPERATURE", 61); return 0;
}

int nvmlDeviceGetMemoryInfo(void *gpu, u64 *out) { /* total, free, used */
    DEV(gpu);
    out[0] = (u64)num("TOTAL_MIB", 81920) << 20;
    out[2] = (u64)num("USED_MIB", 14000) << 20;
    out[1] = out[0] - out[2];
    return 0;
}

int nvmlDeviceGetMemoryInfo_v2(void *gpu, u64 *out) { /* version, total, reserved, free, used */
    DEV(gpu);
    out[1] = (u64)num("TOTAL_MIB", 81920) << 20;
    out[2] = 600ull << 20;
    out[4] = (u64)num("USED_MIB", 14000) << 20;
    out[3] = out[1] - out[2] - out[4];
    return 0;
}

int nvmlGpmQueryDeviceSupport(void *gpu, u32 *out) { DEV(gpu); out[1] = (u32)num("GPM", 0); return 0; }
int nvmlGpmSampleAlloc(void **out) { SYS(); *out = calloc(1, sizeof(u64)); return 0; }
int nvmlGpmSampleFree(void *sample) { SYS(); free(sample); return 0; }
int nvmlGpmSampleGet(void *gpu, u64 *sample) { DEV(gpu); *sample = now_us(); return 0; }
int nvmlGpmMetricsGet(gpm_get_t *get) {
    SYS();
    if (*(u64 *)get->b - *(u64 *)get->a < 100000) return 2; /* too close: what a driver may refuse */
    for (u32 i = 0; i < get->n; i++) {
        get->metrics[i].ret = get->metrics[i].id == 5 ? 3 : 0; /* no tensor counter here */
        get->metrics[i].value = get->metrics[i].id == 10 ? (double)num("DRAM_PCT", 91) : 50.0;
    }
    return 0;
}
