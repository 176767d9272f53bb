package simnet

import (
	"strings"
	"syscall"
)

// Freeze stops the master as SIGSTOP does: it accepts connections and reads, but executes nothing. Keys still expire.
func (m *Master) Freeze() { m.set(func() { m.frozen = true }) }

// Thaw ends Freeze. The master executes in order what it has received meanwhile.
func (m *Master) Thaw() { m.set(func() { m.frozen = false }) }

// Refuse makes new connections fail; those that exist are not touched. Accept ends it.
func (m *Master) Refuse() { m.set(func() { m.refuse = true }) }

// Accept ends Refuse.
func (m *Master) Accept() { m.set(func() { m.refuse = false }) }

// Crash ends the server and loses its data, scripts and subscriptions. Its connections break, commands that it has not
// executed are lost, and new connections are refused until Restart.
func (m *Master) Crash() { m.stop(false) }

// Stop ends the server like Crash, but Restart restores its data, as with an append-only file that is synced always.
// Keys still expire.
func (m *Master) Stop() { m.stop(true) }

// Restart starts the server again, empty unless Stop ended it, with a new run_id and no uptime. A server that is up
// crashes first. A frozen server thaws.
func (m *Master) Restart() {
	if m.Up() {
		m.Crash()
	}
	m.set(func() {
		m.newLife()
		m.booted = m.now()
		m.up, m.frozen = true, false
	})
}

// Up reports whether the server runs, frozen or not.
func (m *Master) Up() bool { return read(m, func() bool { return m.up }) }

// Wipe removes all data, as FLUSHALL does: the run_id stays.
func (m *Master) Wipe() { m.set(m.redis.FlushAll) }

// Evict removes the keys that begin with prefix, as a server that runs out of memory may.
func (m *Master) Evict(prefix string) {
	m.set(func() {
		for _, key := range m.redis.Keys() {
			if strings.HasPrefix(key, prefix) {
				m.redis.Del(key)
			}
		}
	})
}

// FlushScripts makes the server forget its scripts: EVALSHA gets NOSCRIPT.
func (m *Master) FlushScripts() {
	m.set(m.forgetScripts)
}

func (m *Master) forgetScripts() {
	clear(m.scripts)
	m.redis.Server().Dispatch(discardingPeer(), []string{"SCRIPT", "FLUSH"})
}

// Reset breaks all connections at once. What has reached the master is executed, what is on the way is lost.
func (m *Master) Reset() {
	for _, c := range m.open() {
		c.reset()
	}
}

// Disconnect closes all connections, as CLIENT KILL does: the answers that are on the way still arrive.
func (m *Master) Disconnect() {
	for _, c := range m.open() {
		c.abandon(syscall.ECONNRESET)
	}
}

// Heal ends every fault but a crash: the link's, Freeze, Refuse, HangUp and the replies set with Reply.
func (m *Master) Heal() {
	m.Link.Heal()
	m.set(func() { m.frozen, m.refuse, m.hangUp, m.rules = false, false, nil, nil })
}

// Reply has the server answer the given commands, all if none are given, with the error msg, such as "LOADING Redis is
// loading the dataset in memory", until Recover. It applies to the commands of scripts too.
func (m *Master) Reply(msg string, cmds ...string) { m.ReplyTimes(-1, msg, cmds...) }

// ReplyTimes is Reply for the next n such commands.
func (m *Master) ReplyTimes(n int, msg string, cmds ...string) {
	r := rule{msg: msg, left: n}
	if len(cmds) > 0 {
		r.cmds = make(map[string]bool)
		for _, c := range cmds {
			r.cmds[c] = true
		}
	}
	m.set(func() { m.rules = append(m.rules, r) })
}

// ReplyOnly ends every Reply, and has the server answer every command with the error msg unless msg is "".
func (m *Master) ReplyOnly(msg string) {
	m.set(func() {
		m.rules = nil
		if msg != "" {
			m.rules = []rule{{msg: msg, left: -1}}
		}
	})
}

// Recover ends Reply.
func (m *Master) Recover() { m.set(func() { m.rules = nil }) }

// HangUp makes the server end a connection, without an answer, at every command for which at is true, as it does at a
// request that is too large. The answers to earlier commands still arrive. nil ends it.
func (m *Master) HangUp(at func(args []string) bool) { m.set(func() { m.hangUp = at }) }

// Info sets a field of INFO, "run_id", "uptime_in_seconds", "role" and the like, to value; "" leaves the field out.
func (m *Master) Info(field, value string) { m.set(func() { m.fields[field] = value }) }

// RunID returns the run_id of the server's present life.
func (m *Master) RunID() string { return read(m, func() string { return m.runID }) }

// RequirePassword makes every connection authenticate. A crash does not end it.
func (m *Master) RequirePassword(password string) {
	m.set(func() {
		m.password = true
		m.redis.RequireAuth(password)
	})
}

func (m *Master) set(f func()) {
	m.net.change(func() { m.locked(f) })
	m.cond.Broadcast()
}

func (m *Master) stop(keep bool) {
	m.set(func() {
		m.up, m.frozen = false, false
		if !keep {
			m.redis.FlushAll()
		}
		m.forgetScripts()
	})
	for _, c := range m.open() {
		c.abandon(syscall.ECONNRESET)
	}
}
