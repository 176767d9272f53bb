/*
 * Preloaded into a server, this moves its wall clock: what gettimeofday and time return is the machine's time, plus an
 * offset, plus what a wrong rate has gained. The settings are in a file that is mapped, so they change at run time.
 *
 * Redis takes all wall time from these two. The monotonic clock is left alone, as a real jump leaves it.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

struct settings {
	int64_t version; /* odd while the rest is being written */
	int64_t offset;  /* microseconds */
	int64_t since;   /* from when the rate applies, in microseconds of the machine's time */
	int64_t rate;    /* what the clock gains, in microseconds a second */
};

static const struct settings *shared;

__attribute__((constructor)) static void map(void)
{
	const char *path = getenv("REDLOCK_WALLCLOCK");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0)
		return;
	void *p = mmap(NULL, sizeof *shared, PROT_READ, MAP_SHARED, fd, 0);
	if (p != MAP_FAILED)
		shared = p;
	close(fd);
}

/* gained is what is added to the machine's time. A writer that died halfway must not hang the server: it asks a hundred
 * times for settings that are whole, then takes what is there. */
static int64_t gained(int64_t now)
{
	struct settings s;
	if (!shared)
		return 0;
	for (int i = 0; i < 100; i++) {
		s.version = __atomic_load_n(&shared->version, __ATOMIC_ACQUIRE);
		s.offset = __atomic_load_n(&shared->offset, __ATOMIC_RELAXED);
		s.since = __atomic_load_n(&shared->since, __ATOMIC_RELAXED);
		s.rate = __atomic_load_n(&shared->rate, __ATOMIC_RELAXED);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (!(s.version & 1) && s.version == __atomic_load_n(&shared->version, __ATOMIC_RELAXED))
			break;
	}
	return s.offset + (now - s.since) / 1000 * s.rate / 1000;
}

static int64_t wall(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_REALTIME, &ts);
	int64_t now = (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
	return now + gained(now);
}

int gettimeofday(struct timeval *restrict tv, void *restrict tz)
{
	(void)tz;
	int64_t now = wall();
	tv->tv_sec = now / 1000000;
	tv->tv_usec = now % 1000000;
	return 0;
}

time_t time(time_t *t)
{
	time_t now = wall() / 1000000;
	if (t)
		*t = now;
	return now;
}
