package simnet

import (
	"crypto/sha1"
	"fmt"
	"strconv"
	"strings"

	"github.com/alicebob/miniredis/v2/server"
)

// foreign reports whether a script uses what only the interpreter of miniredis has: cjson, or a function of redis
// besides call and pcall.
func foreign(text string) bool {
	for _, after := range strings.Split(text, "redis.")[1:] {
		if !strings.HasPrefix(after, "call") && !strings.HasPrefix(after, "pcall") {
			return true
		}
	}
	return strings.Contains(text, "cjson")
}

// script runs EVAL, and EVALSHA of a known script. It returns false for commands that miniredis must answer.
func (m *Master) script(peer *server.Peer, name string, args []string) bool {
	var digest string
	switch {
	case m.password || len(args) < 3 && name != "SCRIPT":
		return false
	case name == "EVAL" && foreign(args[1]):
		m.load(args[1])
	case name == "EVAL":
		digest = fmt.Sprintf("%x", sha1.Sum([]byte(args[1])))
		m.scripts[digest] = args[1]
	case name == "EVALSHA":
		digest = args[1]
	case name == "SCRIPT":
		m.showScripts(args)
	}
	text, known := m.scripts[digest]
	if !known {
		return false
	}
	n, err := strconv.Atoi(args[2])
	if err != nil || n < 0 || n > len(args)-3 {
		return false
	}
	if m.lua == nil {
		m.lua = newInterpreter(m.redis.Server().Dispatch)
	}
	m.lua.peer.Ctx = peer.Ctx
	result, err := m.lua.run(digest, text, args[3:3+n], args[3+n:])
	if err != nil {
		peer.WriteError("ERR Error compiling script (new function): " + strings.ReplaceAll(err.Error(), "\n", " "))
		m.lua = nil
		return true
	}
	answer(peer, result)
	m.lua.state.SetTop(0)
	return true
}

// load loads a script into miniredis.
func (m *Master) load(text string) {
	m.redis.Server().Dispatch(discardingPeer(), []string{"SCRIPT", "LOAD", text})
}

// showScripts loads the scripts into miniredis before a command that lists or flushes them.
func (m *Master) showScripts(args []string) {
	for _, text := range m.scripts {
		m.load(text)
	}
	if len(args) > 1 && strings.EqualFold(args[1], "FLUSH") {
		clear(m.scripts)
	}
}
