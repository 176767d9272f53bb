/*
 * The exclusion of redlock, with time.
 *
 * CLIENTS clients each try once to acquire one name on N masters, extend the lock at most EXTENSIONS times, and
 * release it. Time advances in ticks. A client may pause at any moment, also between the last reply and its check of
 * the validity: every step of a client may wait for any number of ticks. So may every message. A connection may break,
 * and a request that was on its way then may still arrive, at most LATE ticks later. Masters restart without their
 * data, RESTARTS times in all. Clocks differ: a key may expire DRIFT ticks early, and a restart window may end two
 * DRIFTs early.
 *
 * Checked: at most one client at a time holds the lock within its validity; and once every release of a client is
 * confirmed for good, no master has its key.
 *
 * Each rule has a switch, NO_..., that removes it. Then Spin must find a violation. README.md has the rules, what is
 * left out, and why that loses nothing.
 */

#ifndef N
#define N 3
#endif
#ifndef CLIENTS
#define CLIENTS 2
#endif
#ifndef EXTENSIONS
#define EXTENSIONS 1
#endif
#ifndef EXTENDERS
#define EXTENDERS CLIENTS /* how many of the clients extend their locks */
#endif
#ifdef LAST_EXTENDS
#define EXTENDER(c) ((c) >= CLIENTS - EXTENDERS) /* the last to ask */
#else
#define EXTENDER(c) ((c) < EXTENDERS) /* the first to ask */
#endif
#ifndef RESTARTS
#define RESTARTS 1
#endif
#ifndef BREAKS
#define BREAKS 1
#endif
#ifndef TTL
#define TTL 3
#endif
#define DRIFT 1
#define LATE 2

#ifdef NO_MAJORITY
#define NEED (N / 2)
#else
#define NEED (N / 2 + 1)
#endif
#ifdef NO_DRIFT
#define VALIDITY TTL
#else
#define VALIDITY (TTL - DRIFT)
#endif
#if defined(NO_WINDOW)
#define WINDOW 0
#elif defined(NO_WINDOW_DRIFT)
#define WINDOW TTL
#else
#define WINDOW (TTL + DRIFT)
#endif

#define AT(c, m) ((c) * N + (m))
#define LESS(t)  ((t) > 0 -> (t) - 1 : 0)

/* The masters. */
byte key[N]    /* the client whose token the key has, plus 1; 0: there is no key */
byte ttl[N]    /* how long the key still lasts */
byte window[N] /* how long the server's grants do not count yet */
byte restarts, breaks

/* The clients. */
mtype = { idle, asking, holding, done };
mtype phase[CLIENTS] = idle
byte validity[CLIENTS]   /* the ticks left of the validity */
byte acquired[CLIENTS]   /* the ticks left of the validity that the acquire gave */
byte extended[CLIENTS]   /* the ticks left of the validity that the present extension will give */
bit  extending[CLIENTS]
bit  interrupted[CLIENTS] /* another client has held the lock since this one acquired it */
byte extensions[CLIENTS]

/* The requests and votes of each client and master. The acquire and the extension are never on their way together. */
mtype = { none, acquire, extend, twice };
mtype request[CLIENTS * N] = none /* what is on its way on the connection; twice: two extensions */
bit  vote[CLIENTS * N]            /* the master granted the acquire or the extension, and the vote counts */
byte reserved[CLIENTS * N]        /* how long the votes of the master are reserved for the client */
byte late[CLIENTS * N]            /* how long a request of a broken connection may still arrive */
bit  releasing[CLIENTS * N]       /* the release is not confirmed for good */

/*
 * A vote that counts reserves the master for the client, for the validity of its request. So does an extension that
 * restores the key on a reserved master. A reserved master's vote on an extension counts even within its restart
 * window.
 */
#ifdef NO_GUARD
#define EXTENDS(c) extending[c]
#else
#define EXTENDS(c) (extending[c] && (window[m] == 0 || reserved[AT(c, m)] > 0))
#endif
inline reserve(c, ticks) {
  if
  :: EXTENSIONS > 0 && EXTENDER(c) && ticks > reserved[AT(c, m)] -> reserved[AT(c, m)] = ticks
  :: else
  fi
}

/* No ghost: after a master has confirmed a client's release for good, it sets no key of that client. */
inline place(c) {
  assert(phase[c] != done || releasing[AT(c, m)])
  key[m] = c + 1
  ttl[m] = TTL
}

inline executeAcquire(c) {
  atomic {
    request[AT(c, m)] == acquire ->
    request[AT(c, m)] = none
    if
#ifdef NO_NX
    :: true ->
#else
    :: key[m] == 0 ->
#endif
       printf("master %d grants client %d the lock\n", m, c)
       place(c)
       vote[AT(c, m)] = (window[m] == 0 && phase[c] == asking)
       if
       :: window[m] == 0 -> reserve(c, acquired[c])
       :: else
       fi
#ifndef NO_NX
    :: else ->
       printf("master %d denies client %d the lock\n", m, c)
#endif
    fi
  }
}

/* An extension prolongs the client's key and restores a missing one. The vote of a restored key does not count. */
inline executeExtend(c) {
  atomic {
    request[AT(c, m)] == extend || request[AT(c, m)] == twice ->
    request[AT(c, m)] = (request[AT(c, m)] == twice -> extend : none)
    if
    :: key[m] == c + 1 ->
       printf("master %d extends the lock of client %d\n", m, c)
       place(c)
       vote[AT(c, m)] = EXTENDS(c)
       if
       :: vote[AT(c, m)] -> reserve(c, extended[c])
       :: else
       fi
    :: key[m] == 0 ->
       printf("master %d restores the key of client %d\n", m, c)
       place(c)
#ifdef NO_CONTINUITY
       vote[AT(c, m)] = EXTENDS(c)
#endif
#ifdef NO_RESERVATION
       reserve(c, extended[c])
#else
       if
       :: extending[c] && reserved[AT(c, m)] > 0 -> reserve(c, extended[c])
       :: else
       fi
#endif
    :: else
    fi
  }
}

/* A request of a broken connection arrives. Its reply does not. */
inline executeLate(c) {
  atomic {
    late[AT(c, m)] > 0 && key[m] == 0 ->
    late[AT(c, m)] = 0
    printf("master %d executes a late request of client %d\n", m, c)
    place(c)
  }
}

/*
 * A master executes a release after the requests that precede it on the connection. It confirms the release for good
 * when no late request can arrive any more; until then the client repeats it.
 */
inline executeRelease(c) {
  atomic {
#ifdef NO_ORDER
    releasing[AT(c, m)] ->
#else
    releasing[AT(c, m)] && request[AT(c, m)] == none ->
#endif
    if
#ifdef NO_REPETITION
    :: true -> releasing[AT(c, m)] = 0
#else
    :: late[AT(c, m)] == 0 -> releasing[AT(c, m)] = 0
    :: late[AT(c, m)] > 0 && key[m] == c + 1
#endif
    fi
    printf("master %d executes the release of client %d\n", m, c)
    if
#ifdef NO_COMPARE
    :: true ->
#else
    :: key[m] == c + 1 ->
#endif
       key[m] = 0; ttl[m] = 0
#ifndef NO_COMPARE
    :: else
#endif
    fi
  }
}

/*
 * The connection of a client breaks. The request on its way is lost, or arrives late. The masters are alike, so the
 * first fault hits master 0, and every other one either a master that was hit before or the next one.
 */
inline break_(c) {
  atomic {
    request[AT(c, m)] != none && breaks < BREAKS && m <= breaks + restarts ->
    breaks++
    request[AT(c, m)] = none
    late[AT(c, m)] = LATE
    printf("the connection of client %d to master %d breaks\n", c, m)
  }
}

inline restart() {
  atomic {
    restarts < RESTARTS && m <= breaks + restarts ->
    restarts++
    key[m] = 0; ttl[m] = 0
    window[m] = WINDOW
    for (i : 0 .. CLIENTS - 1) { request[AT(i, m)] = none; late[AT(i, m)] = 0 }
    i = 0
    printf("master %d restarts without its data\n", m)
  }
}

proctype Master(byte m) {
  byte i
  do
  :: executeAcquire(0) :: executeExtend(0) :: executeLate(0) :: executeRelease(0) :: break_(0)
  :: executeAcquire(1) :: executeExtend(1) :: executeLate(1) :: executeRelease(1) :: break_(1)
#if CLIENTS > 2
  :: executeAcquire(2) :: executeExtend(2) :: executeLate(2) :: executeRelease(2) :: break_(2)
#endif
  :: restart()
  :: atomic {
       key[m] != 0 && ttl[m] <= DRIFT ->
       printf("on master %d the key of client %d expires early\n", m, key[m] - 1)
       key[m] = 0; ttl[m] = 0
     }
  /* The server's clock gains DRIFT on the holder's, and the clock that measures the window gains DRIFT on the server's. */
  :: atomic { window[m] != 0 && window[m] <= 2 * DRIFT -> window[m] = 0 }
  od
}

/* A tick: every key, window, validity and wait for late requests is one tick shorter. */
proctype Clock() {
  byte i, j
  do
  :: d_step {
       true ->
       for (i : 0 .. N - 1) {
         if
         :: ttl[i] == 1 -> key[i] = 0; ttl[i] = 0
         :: else -> ttl[i] = LESS(ttl[i])
         fi
         window[i] = LESS(window[i])
       }
       for (i : 0 .. CLIENTS - 1) {
         validity[i] = LESS(validity[i])
         extended[i] = LESS(extended[i])
         acquired[i] = LESS(acquired[i])
         for (j : 0 .. N - 1) {
           late[AT(i, j)] = LESS(late[AT(i, j)])
           reserved[AT(i, j)] = LESS(reserved[AT(i, j)])
         }
       }
       i = 0; j = 0
       printf("tick\n")
     }
  od
}

inline count() {
  votes = 0
  for (m : 0 .. N - 1) { votes = votes + vote[AT(c, m)] }
  m = 0
}

inline forget() {
  for (m : 0 .. N - 1) { vote[AT(c, m)] = 0 }
  m = 0; votes = 0
}

/* Exclusion: no other client holds the lock within its validity, or held it since this one acquired it. */
inline alone() {
  assert(!interrupted[c])
  for (m : 0 .. CLIENTS - 1) {
    assert(m == c || phase[m] != holding || validity[m] == 0)
    interrupted[m] = (m != c && phase[m] == holding)
  }
  m = 0
}

/* The replies are there, and perhaps were for long: the client looks at its clock. */
#ifdef NO_CHECK
#define VALID(t) true
#else
#define VALID(t) ((t) > 0)
#endif
#ifdef NO_DEADLINE
#define BEFORE_DEADLINE(c) true
#else
#define BEFORE_DEADLINE(c) (validity[c] > 0)
#endif

/* The client gives up the lock or the attempt: it releases on every master. */
inline release() {
  phase[c] = done
  validity[c] = 0; acquired[c] = 0; extended[c] = 0; extending[c] = 0; extensions[c] = 0; interrupted[c] = 0
  for (m : 0 .. N - 1) {
    reserved[AT(c, m)] = 0
#ifdef NO_CLEANUP
    releasing[AT(c, m)] = held
#else
    releasing[AT(c, m)] = 1
#endif
    assert(releasing[AT(c, m)] || key[m] != c + 1) /* no ghost */
  }
  forget()
}

proctype Client(byte c) {
  byte m, votes
  bit held

  atomic {
    (c == 0 || phase[c - 1] != idle) -> /* the clients are alike, so they may begin in order */
    phase[c] = asking
    validity[c] = VALIDITY
    acquired[c] = (EXTENSIONS > 0 && EXTENDER(c) -> VALIDITY : 0)
    for (m : 0 .. N - 1) { request[AT(c, m)] = acquire }
    m = 0
    printf("client %d asks all masters\n", c)
  }
  do
  :: atomic {
       phase[c] == asking ->
       count()
       if
#ifdef NO_STOPWATCH
       :: votes >= NEED ->
          validity[c] = VALIDITY /* counted from now */
#else
       :: votes >= NEED && VALID(validity[c]) ->
#endif
          phase[c] = holding
          held = 1
          printf("client %d holds the lock for %d ticks\n", c, validity[c])
          alone()
          forget()
       :: true ->
          release()
          printf("client %d gives up\n", c)
       fi
     }
  :: atomic {
       phase[c] == holding && extensions[c] < EXTENSIONS && EXTENDER(c) && BEFORE_DEADLINE(c) ->
       forget() /* what answered an extension before this one */
       extensions[c]++
       extending[c] = 1
       extended[c] = VALIDITY
       for (m : 0 .. N - 1) {
         if
         :: request[AT(c, m)] == none -> request[AT(c, m)] = extend
         :: request[AT(c, m)] == extend -> request[AT(c, m)] = twice
         :: else
         fi
       }
       m = 0
       printf("client %d extends the lock\n", c)
     }
  :: atomic {
       phase[c] == holding && extending[c] && BEFORE_DEADLINE(c) ->
       count()
       if
       :: votes >= NEED && VALID(extended[c]) ->
          validity[c] = extended[c]
          extending[c] = 0; extended[c] = 0
          printf("client %d holds the lock for %d ticks\n", c, validity[c])
          alone()
          forget()
       :: else
       fi
       votes = 0
     }
  :: atomic {
       phase[c] == holding ->
       printf("client %d releases the lock\n", c)
       release()
     }
  :: atomic {
       phase[c] == done ->
       held = 0
       break
     }
  od
}

init {
  byte i
  atomic {
    for (i : 0 .. N - 1) { run Master(i) }
    for (i : 0 .. CLIENTS - 1) { run Client(i) }
    run Clock()
    i = 0
  }
}
