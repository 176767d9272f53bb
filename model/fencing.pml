/*
 * The fencing tokens of redlock, without any clock.
 *
 * CLIENTS clients each try once to acquire one name, exclusively, on N masters. Every message may be lost, delayed for
 * any time, or overtaken by another. Every key may expire at any moment, which also stands for every release. A client
 * that has acquired the lock extends it at any time, also long after its keys have expired, and its extensions restore
 * missing keys. A minority of the masters restarts without its data, each once.
 *
 * Checked: no two holders have the same token, and a holder's token is larger than that of every client that held the
 * lock before this one asked.
 *
 * The rules are in fencing_rules.pml. Each has a switch, NO_..., that removes it. Then Spin must find a violation.
 * README.md says what is left out, and why that loses nothing.
 */

#include "fencing_rules.pml"

#define MINORITY ((N - 1) / 2)

byte restarts /* how many masters have restarted */

proctype Master(byte m) {
  byte i
  do
  :: executeAcquire(0, counter[m] + 1) :: executeRaise(0) :: executeExtend(0)
  :: executeAcquire(1, counter[m] + 1) :: executeRaise(1) :: executeExtend(1)
#if CLIENTS > 2
  :: executeAcquire(2, counter[m] + 1) :: executeRaise(2) :: executeExtend(2)
#endif
#ifdef SKIPS /* a master may also skip a number, because a client's hint is larger */
  :: executeAcquire(0, counter[m] + 2) :: executeAcquire(1, counter[m] + 2)
#endif
  :: atomic {
       m == restarts && restarts < MINORITY -> /* the masters are alike, so they may restart in order */
       restarts++
       restart()
     }
  od
}

proctype Client(byte c) {
  byte m, o, votes, best
  bit seen[N]

  atomic {
    (c == 0 || phase[c - 1] != idle) -> /* the clients are alike, so they may begin in order */
    ask(c)
  }
  do
  :: atomic { phase[c] == asking -> decide(c) }
  :: atomic { phase[c] == raising -> conclude(c) }
  :: phase[c] == holding -> break
  od
}

init {
  byte i
  atomic {
    for (i : 0 .. N - 1) { run Master(i) }
    for (i : 0 .. CLIENTS - 1) { run Client(i) }
    i = 0
  }
}
