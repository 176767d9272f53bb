package simnet

import "maps"

// counted reads what is counted.
func counted[T any](m *Master, read func() T) T {
	m.tally.Lock()
	defer m.tally.Unlock()
	return read()
}

// Count returns how often the clients sent the command (in capitals) to this master, executed or refused.
func (m *Master) Count(cmd string) int { return counted(m, func() int { return m.seen[cmd] }) }

// CountNested returns how often scripts called the command.
func (m *Master) CountNested(cmd string) int {
	return counted(m, func() int { return m.nestedSeen[cmd] })
}

// Counts returns how often the clients sent each command.
func (m *Master) Counts() map[string]int {
	return counted(m, func() map[string]int { return maps.Clone(m.seen) })
}

// Conns returns the number of connections that the server considers open. A connection that a client has closed counts
// until the server reads its end.
func (m *Master) Conns() int { return counted(m, func() int { return len(m.conns) }) }

// ConnsEver returns the number of connections that the server has accepted.
func (m *Master) ConnsEver() int { return counted(m, func() int { return m.ever }) }

// Dials returns how often a client tried to connect.
func (m *Master) Dials() int { return counted(m, func() int { return m.dials }) }
