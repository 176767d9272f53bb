package redlock

import (
	_ "embed"

	"github.com/redlock-go/redlock/node"
)

var (
	//go:embed lua/common.lua
	commonLua string
	//go:embed lua/entries.lua
	entriesLua string
	//go:embed lua/leave.lua
	leaveLua string
	//go:embed lua/inspect.lua
	inspectLua string
	//go:embed lua/mutex_common.lua
	mutexCommonLua string
	//go:embed lua/mutex_fenced.lua
	mutexFencedLua string
	//go:embed lua/mutex_acquire.lua
	mutexAcquireLua string
	//go:embed lua/mutex_raise.lua
	mutexRaiseLua string
	//go:embed lua/mutex_extend.lua
	mutexExtendLua string
	//go:embed lua/mutex_release.lua
	mutexReleaseLua string
	//go:embed lua/mutex_look.lua
	mutexLookLua string
	//go:embed lua/entry_common.lua
	entryCommonLua string
	//go:embed lua/entry_acquire.lua
	entryAcquireLua string
	//go:embed lua/entry_raise.lua
	entryRaiseLua string
	//go:embed lua/entry_extend.lua
	entryExtendLua string
	//go:embed lua/entry_release.lua
	entryReleaseLua string
	//go:embed lua/entry_look.lua
	entryLookLua string
)

// scripts are what the masters run.
type scripts struct {
	inspect, leave *node.Script

	mutex struct{ fenced, acquire, raise, extend, release, look *node.Script }
	entry struct{ acquire, raise, extend, release, look *node.Script }
}

// sound are the scripts that every Locker uses, but for those that a harness has broken.
var sound = newScripts(nil)

// newScripts prepares the scripts. rewrite, if set, may change their texts, by name.
func newScripts(rewrite func(name, text string) string) *scripts {
	s := &scripts{}
	for _, one := range []struct {
		script     **node.Script
		name, text string
	}{
		{&s.inspect, "inspect", commonLua + inspectLua},
		{&s.leave, "leave", commonLua + leaveLua},
		{&s.mutex.fenced, "mutex_fenced", mutexFencedLua + commonLua + mutexAcquireLua},
		{&s.mutex.acquire, "mutex_acquire", commonLua + mutexAcquireLua},
		{&s.mutex.raise, "mutex_raise", commonLua + mutexCommonLua + mutexRaiseLua},
		{&s.mutex.extend, "mutex_extend", commonLua + mutexCommonLua + mutexExtendLua},
		{&s.mutex.release, "mutex_release", mutexReleaseLua},
		{&s.mutex.look, "mutex_look", commonLua + entriesLua + mutexLookLua},
		{&s.entry.acquire, "entry_acquire", commonLua + entriesLua + entryCommonLua + entryAcquireLua},
		{&s.entry.raise, "entry_raise", commonLua + entriesLua + entryCommonLua + entryRaiseLua},
		{&s.entry.extend, "entry_extend", commonLua + entriesLua + entryCommonLua + entryExtendLua},
		{&s.entry.release, "entry_release", commonLua + entriesLua + entryCommonLua + entryReleaseLua},
		{&s.entry.look, "entry_look", commonLua + entriesLua + entryCommonLua + entryLookLua},
	} {
		text := one.text
		if rewrite != nil {
			text = rewrite(one.name, text)
		}
		*one.script = node.NewScript(text)
	}
	return s
}
