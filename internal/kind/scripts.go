package kind

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

// Scripts are the scripts of all kinds.
type Scripts struct {
	inspect, withdraw *node.Script

	mutex struct{ fenced, acquire, raise, extend, release, probe *node.Script }
	entry struct{ acquire, raise, extend, release, probe *node.Script }
}

// DefaultScripts are the scripts of every Locker that no test harness has broken.
var DefaultScripts = NewScripts(nil)

// NewScripts prepares the scripts. If rewrite is not nil, it may change each text; name is the script's name.
func NewScripts(rewrite func(name, text string) string) *Scripts {
	s := &Scripts{}
	for _, one := range []struct {
		script     **node.Script
		name, text string
	}{
		{&s.inspect, "inspect", commonLua + inspectLua},
		{&s.withdraw, "leave", commonLua + leaveLua},
		{&s.mutex.fenced, "mutex_fenced", mutexFencedLua + commonLua + mutexAcquireLua},
		{&s.mutex.acquire, "mutex_acquire", commonLua + mutexAcquireLua},
		{&s.mutex.raise, "mutex_raise", commonLua + mutexCommonLua + mutexRaiseLua},
		{&s.mutex.extend, "mutex_extend", commonLua + mutexCommonLua + mutexExtendLua},
		{&s.mutex.release, "mutex_release", mutexReleaseLua},
		{&s.mutex.probe, "mutex_look", commonLua + entriesLua + mutexLookLua},
		{&s.entry.acquire, "entry_acquire", commonLua + entriesLua + entryCommonLua + entryAcquireLua},
		{&s.entry.raise, "entry_raise", commonLua + entriesLua + entryCommonLua + entryRaiseLua},
		{&s.entry.extend, "entry_extend", commonLua + entriesLua + entryCommonLua + entryExtendLua},
		{&s.entry.release, "entry_release", commonLua + entriesLua + entryCommonLua + entryReleaseLua},
		{&s.entry.probe, "entry_look", commonLua + entriesLua + entryCommonLua + entryLookLua},
	} {
		text := one.text
		if rewrite != nil {
			text = rewrite(one.name, text)
		}
		*one.script = node.NewScript(text)
	}
	return s
}
