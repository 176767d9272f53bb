package simnet

import (
	"bufio"
	"bytes"
	"strings"
	"sync"

	"github.com/alicebob/miniredis/v2/server"
	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"
)

// An interpreter runs the scripts of one master as miniredis does, with the same Lua. Miniredis makes a new one for
// every script: 100 schedules of the simulation then take 26 s of processor time instead of 6 s. A script gets KEYS,
// ARGV, the standard libraries, redis.call and redis.pcall. It cannot set a global, so it leaves nothing for the next
// script. After an error the interpreter is discarded.
type interpreter struct {
	state *lua.LState
	reply bytes.Buffer // of the latest command
	in    *bufio.Reader
	peer  *server.Peer // for the commands of scripts; it writes to reply

	dispatch func(p *server.Peer, args []string) // of the master
}

var compiled sync.Map // digest to *lua.FunctionProto

// guarded keeps scripts from setting globals, as Redis does.
const guarded = `
setmetatable(_G, {
	__newindex = function(_, n) error("Script attempted to create global variable '" .. tostring(n) .. "'", 2) end,
	__index = function(_, n)
		error("Script attempted to access nonexistent global variable '" .. tostring(n) .. "'", 2)
	end,
})`

func newInterpreter(dispatch func(p *server.Peer, args []string)) *interpreter {
	l := lua.NewState(lua.Options{SkipOpenLibs: true})
	for name, open := range map[string]lua.LGFunction{
		lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable,
		lua.StringLibName: lua.OpenString, lua.MathLibName: lua.OpenMath,
	} {
		l.Push(l.NewFunction(open))
		l.Push(lua.LString(name))
		l.Call(1, 0)
	}
	i := &interpreter{state: l, dispatch: dispatch}
	i.in = bufio.NewReader(&i.reply)
	i.peer = server.NewPeer(bufio.NewWriter(&i.reply))
	redis := l.NewTable()
	redis.RawSetString("call", l.NewFunction(func(l *lua.LState) int { return i.call(l, true) }))
	redis.RawSetString("pcall", l.NewFunction(func(l *lua.LState) int { return i.call(l, false) }))
	l.SetGlobal("redis", redis)
	if err := l.DoString(guarded); err != nil {
		panic("simnet: " + err.Error())
	}
	return i
}

func (i *interpreter) run(digest, text string, keys, args []string) (lua.LValue, error) {
	proto, err := compile(digest, text)
	if err != nil {
		return nil, err
	}
	globals := i.state.G.Global
	globals.RawSetString("KEYS", i.list(keys))
	globals.RawSetString("ARGV", i.list(args))
	i.state.Push(i.state.NewFunctionFromProto(proto))
	if err := i.state.PCall(0, 1, nil); err != nil {
		return nil, err
	}
	return i.state.Get(-1), nil
}

func compile(digest, text string) (*lua.FunctionProto, error) {
	if p, ok := compiled.Load(digest); ok {
		return p.(*lua.FunctionProto), nil
	}
	chunk, err := parse.Parse(strings.NewReader(text), "<string>")
	if err != nil {
		return nil, err
	}
	p, err := lua.Compile(chunk, "")
	if err == nil {
		p.IsVarArg &^= lua.VarArgNeedsArg // a script has no arguments of its own: no table of them for every run
		compiled.Store(digest, p)
	}
	return p, err
}

func (i *interpreter) list(values []string) *lua.LTable {
	t := i.state.CreateTable(len(values), 0)
	for _, v := range values {
		t.Append(lua.LString(v))
	}
	return t
}

// call is redis.call, or, if it does not raise, redis.pcall.
func (i *interpreter) call(l *lua.LState, raise bool) int {
	args := make([]string, l.GetTop())
	for n := range args {
		switch a := l.Get(n + 1).(type) {
		case lua.LNumber:
			args[n] = a.String()
		case lua.LString:
			args[n] = string(a)
		default:
			l.RaiseError("Lua redis lib command arguments must be strings or integers")
		}
	}
	if len(args) == 0 {
		l.RaiseError("Please specify at least one argument for this redis lib call")
	}
	i.reply.Reset()
	i.dispatch(i.peer, args)
	i.peer.Flush()
	i.in.Reset(&i.reply)
	reply, err := server.ParseReply(i.in)
	switch {
	case err != nil && raise:
		l.Error(lua.LString(err.Error()), 1)
	case err != nil:
		t := l.CreateTable(0, 1)
		t.RawSetString("err", lua.LString(err.Error()))
		l.Push(t)
	default:
		l.Push(luaValue(l, reply))
	}
	return 1
}

// luaValue returns what a script gets for a reply.
func luaValue(l *lua.LState, reply any) lua.LValue {
	switch v := reply.(type) {
	case int:
		return lua.LNumber(v)
	case string:
		return lua.LString(v)
	case server.Simple:
		t := l.CreateTable(0, 1)
		t.RawSetString("ok", lua.LString(v))
		return t
	case []any:
		t := l.CreateTable(len(v), 0)
		for _, element := range v {
			t.Append(luaValue(l, element))
		}
		return t
	default: // nil
		return lua.LFalse
	}
}

// answer writes the result of a script.
func answer(peer *server.Peer, value lua.LValue) {
	switch v := value.(type) {
	case lua.LBool:
		if v {
			peer.WriteInt(1)
		} else {
			peer.WriteNull()
		}
	case lua.LNumber:
		peer.WriteInt(int(v))
	case lua.LString:
		peer.WriteBulk(string(v))
	case *lua.LTable:
		if s, ok := v.RawGetString("err").(lua.LString); ok {
			peer.WriteError(string(s))
			return
		}
		if s, ok := v.RawGetString("ok").(lua.LString); ok {
			peer.WriteInline(string(s))
			return
		}
		n := 0
		for v.RawGetInt(n+1) != lua.LNil {
			n++
		}
		peer.WriteLen(n)
		for k := range n {
			answer(peer, v.RawGetInt(k+1))
		}
	default:
		peer.WriteNull()
	}
}
