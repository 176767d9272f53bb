/*
 * Replays histories of the code. trace.pml has the steps that the code took, one history after the other; the harness
 * writes it (chaos/internal/replay). Each step must be one that the rules of fencing_rules.pml allow, with the numbers
 * that the code had. Spin prints how many it allows: the largest number
 * that it prints, since it tries every choice of a client's replies.
 */

#define NUMBER short
#include "trace.pml" /* N, CLIENTS, STEPS; op, client, master, number, answer */
#include "fencing_rules.pml"

#define BEGIN     0 /* a new history begins */
#define ASK       1 /* the first request of an attempt arrived at a master */
#define GRANT     2 /* the master granted the acquire with the number */
#define WRITE     3 /* the client decided to write the number back */
#define RAISE     4 /* the master executed the write-back of the number, and answered with its counter */
#define HOLD      5 /* the client held the lock, with the number as its token */
#define EXTEND    6 /* the master executed an extension with the number as its token */
#define RESTART   7 /* the master restarted */
#define UNCOUNTED 8 /* within the restart window the master executed something that left its counter at the number */

int step

/* The client decides, as it does in fencing.pml. The result must be the code's: the phase and the number. */
inline decides(p) {
  atomic {
    if
    :: phase[c] == asking -> decide(c)
    :: phase[c] == raising -> conclude(c)
    fi
    phase[c] == p && fence[c] == number[step]
  }
}

/* A write-back that changes nothing and whose answer no longer matters is no step of the model. */
inline raises() {
  if
  :: phase[c] == raising && number[step] == fence[c] && writing[AT(c, m)] ->
     executeRaise(c)
  :: phase[c] == raising && number[step] == previous[c] && previous[c] > counter[m] -> executeRaise(c)
  :: phase[c] == holding && number[step] == fence[c] && BEHIND -> executeExtend(c)
  :: else -> number[step] <= counter[m]
  fi
  counter[m] == answer[step]
}

active proctype Replay() {
  int c, m, o, i, votes, best
  bit seen[N]
  do
  :: step < STEPS ->
     atomic {
       c = client[step]; m = master[step]
       if
       :: op[step] == BEGIN ->
          for (i : 0 .. N - 1) { key[i] = 0; counter[i] = 0 }
          for (i : 0 .. CLIENTS - 1) { phase[i] = idle; fence[i] = 0; previous[i] = 0; earlier[i] = 0 }
          for (i : 0 .. CLIENTS * N - 1) {
            acquiring[i] = 0; grant[i] = 0; writing[i] = 0; agrees[i] = 0; reply[i] = 0
          }
          largest = 0; i = 0
       :: op[step] == ASK -> phase[c] == idle; ask(c)
       :: op[step] == GRANT -> executeAcquire(c, number[step])
       :: op[step] == WRITE -> decides(raising)
       :: op[step] == RAISE -> raises()
       :: op[step] == HOLD -> decides(holding)
       :: op[step] == EXTEND ->
          phase[c] == holding && fence[c] == number[step]
          if :: BEHIND -> executeExtend(c) :: else fi
       :: op[step] == RESTART -> restart()
       :: op[step] == UNCOUNTED -> counter[m] = MAX(counter[m], number[step])
       fi
       c = 0; m = 0
       step++
       printf("allowed %d\n", step)
     }
  :: else -> break
  od
}
