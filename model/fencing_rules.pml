/*
 * The rules of the fencing tokens: what a client and a master may do. fencing.pml visits every order of these steps.
 *
 * Each rule has a switch, NO_..., that removes it.
 */

#ifndef N
#define N 3
#endif
#ifndef CLIENTS
#define CLIENTS 3
#endif
#ifdef NO_MAJORITY
#define NEED (N / 2)
#else
#define NEED (N / 2 + 1)
#endif
#ifndef NUMBER
#define NUMBER byte /* a token, a counter, or a client */
#endif

#define MAX(a, b) ((a) > (b) -> (a) : (b))
#define AT(c, m)  ((c) * N + (m))

/* The masters. Any key may have expired, so a key matters only while its client may still write a token back. */
NUMBER key[N]       /* the client whose key is there, plus 1; 0: none, or one that matters to no client any more */
NUMBER counter[N]   /* the fence counter */

/* The clients. */
mtype = { idle, asking, raising, holding };
mtype phase[CLIENTS] = idle
NUMBER fence[CLIENTS]         /* the fencing token that the client holds, or writes back */
NUMBER previous[CLIENTS]      /* the token that it wrote back before; 0: none */
NUMBER earlier[CLIENTS]       /* the largest token of a holder when the client asked */
NUMBER largest                /* the largest token of any holder */

/* The requests and replies of each client and master. */
bit    acquiring[CLIENTS * N] /* an acquire is on its way */
NUMBER grant[CLIENTS * N]     /* the number that the master granted; 0: none */
bit    writing[CLIENTS * N]   /* a write-back is on its way */
bit    agrees[CLIENTS * N]    /* the master granted the client's token, or took it */
NUMBER reply[CLIENTS * N]     /* the larger counter with which the master answered a write-back; 0: none */

/* A client asks all masters. */
inline ask(c) {
  phase[c] = asking
  earlier[c] = largest
  for (m : 0 .. N - 1) { acquiring[AT(c, m)] = 1 }
  m = 0
  printf("client %d asks all masters\n", c)
}

/*
 * A master grants an acquire: it sets the key and increases the counter, to the number n. Any earlier key has expired.
 * If it has not, the master denies the acquire, which is the same as an acquire that is lost.
 */
inline executeAcquire(c, n) {
  atomic {
    acquiring[AT(c, m)] && n > counter[m] ->
    acquiring[AT(c, m)] = 0
    counter[m] = n
    if
    :: phase[c] == holding -> key[m] = 0
    :: else -> key[m] = c + 1; grant[AT(c, m)] = counter[m]
    fi
    printf("master %d grants client %d the number %d\n", m, c, counter[m])
  }
}

inline take(f) {
#ifdef NO_MAX
  counter[m] = f
#else
  counter[m] = MAX(counter[m], f)
#endif
}

/*
 * A master takes a write-back if the name still has the client's key. If not, it refuses, which is the same as a
 * write-back that is lost. The client's earlier write-back may arrive before this one, or without it.
 */
inline executeRaise(c) {
  atomic {
#ifdef NO_COMPARE
    writing[AT(c, m)] && phase[c] == raising ->
#else
    writing[AT(c, m)] && phase[c] == raising && key[m] == c + 1 ->
#endif
    if
    :: previous[c] > counter[m] ->
       take(previous[c])
       printf("master %d takes the earlier write-back %d of client %d\n", m, previous[c], c)
    :: writing[AT(c, m)] = 0
       take(fence[c])
       if
       :: counter[m] == fence[c] -> agrees[AT(c, m)] = 1
       :: else -> reply[AT(c, m)] = counter[m]
       fi
       printf("master %d answers the write-back %d of client %d with %d\n", m, fence[c], c, counter[m])
    fi
  }
}

#ifdef NO_MAX
#define BEHIND (counter[m] != fence[c])
#else
#define BEHIND (counter[m] < fence[c])
#endif

/*
 * A master executes an extension of a client that holds the lock, or held it, and whose token the counter is behind.
 * The key is the client's, or missing. A write-back that arrives only now does the same.
 */
inline executeExtend(c) {
  atomic {
    phase[c] == holding && BEHIND ->
    key[m] = 0
    take(fence[c])
    printf("master %d extends the lock of client %d, and has counter %d\n", m, c, counter[m])
  }
}

/*
 * A master restarts without its data. Its connections break, so that no earlier request reaches the new server; replies
 * that it sent before may still arrive. Within the restart window nothing that it grants counts, so the clients that
 * are asking now do not get the vote of the new server. After the window the clients' hints are above every earlier
 * number (docs/fencing.md, "When counters are lost"), and so is the counter.
 */
inline restart() {
  key[m] = 0
#ifdef NO_HINT
  counter[m] = 0
#else
  for (i : 0 .. N - 1) { counter[m] = MAX(counter[m], counter[i]) }
#endif
  for (i : 0 .. CLIENTS - 1) {
    acquiring[AT(i, m)] = 0; writing[AT(i, m)] = 0
  }
  i = 0
  printf("master %d restarts without its data\n", m)
}

/* The client holds the lock: checks the two properties. The replies that it received no longer matter. */
inline hold() {
  printf("client %d holds the lock with token %d\n", c, fence[c])
  for (m : 0 .. CLIENTS - 1) {
    assert(m == c || phase[m] != holding || fence[m] != fence[c]) /* unique */
  }
  assert(fence[c] > earlier[c]) /* ordered */
  largest = MAX(largest, fence[c])
  phase[c] = holding
  previous[c] = 0
  earlier[c] = 0
  for (m : 0 .. N - 1) {
    if :: key[m] == c + 1 -> key[m] = 0 :: else fi
    grant[AT(c, m)] = 0; writing[AT(c, m)] = 0; agrees[AT(c, m)] = 0; reply[AT(c, m)] = 0
  }
  m = 0
}

/* The client has the votes of at least NEED masters: any subset of the grants, since each reply takes its own time. */
inline settle() {
  best = 0
  for (m : 0 .. N - 1) {
    if
    :: seen[m] ->
       best = MAX(best, grant[AT(c, m)])
       votes = 0
       for (o : 0 .. N - 1) {
         if :: seen[o] && grant[AT(c, o)] == grant[AT(c, m)] -> votes++ :: else fi
       }
       if :: votes >= NEED -> fence[c] = grant[AT(c, m)] :: else fi
    :: else
    fi
  }
#ifdef NO_WRITE_BACK
  fence[c] = best
#endif
  if
  :: fence[c] != 0 -> hold()
  :: else ->
     fence[c] = best
     phase[c] = raising
     printf("client %d writes %d back\n", c, best)
     for (m : 0 .. N - 1) {
       agrees[AT(c, m)] = seen[m] && grant[AT(c, m)] == best
       writing[AT(c, m)] = !agrees[AT(c, m)]
       grant[AT(c, m)] = 0
     }
  fi
}

/* A client that asks chooses any subset of the grants, since each reply takes its own time. */
inline decide(c) {
  votes = 0
  for (m : 0 .. N - 1) {
    if
    :: grant[AT(c, m)] != 0 -> seen[m] = 1; votes++
    :: true
    fi
  }
  if :: votes >= NEED -> settle() :: else fi
  for (m : 0 .. N - 1) { seen[m] = 0 }
  m = 0; o = 0; votes = 0; best = 0
}

/* A client that writes a token back counts the masters that agree. */
inline conclude(c) {
  votes = 0; best = 0
  for (m : 0 .. N - 1) {
    if
    :: agrees[AT(c, m)] -> votes++
#ifdef NO_EQUAL
    :: reply[AT(c, m)] != 0 -> votes++
#endif
    :: reply[AT(c, m)] != 0 -> best = MAX(best, reply[AT(c, m)])
    :: else
    fi
  }
  if
  :: votes >= NEED -> hold()
  :: votes < NEED && best != 0 -> /* the larger number is written back, to every master */
     previous[c] = fence[c]
     fence[c] = best
     printf("client %d writes %d back\n", c, best)
     for (m : 0 .. N - 1) {
       writing[AT(c, m)] = 1; agrees[AT(c, m)] = 0; reply[AT(c, m)] = 0
     }
  :: else
  fi
  m = 0; votes = 0; best = 0
}
