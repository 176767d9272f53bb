package kind

import (
	"embed"
	"strings"

	"github.com/redlock-go/redlock/internal/wire"
)

// Scripts are the scripts of all kinds.
type Scripts struct {
	inspect, withdraw, release *wire.Script

	mutex  struct{ fenced, acquire, raise, extend, release, keep, probe *wire.Script }
	entry  struct{ acquire, raise, extend, release, keep, probe *wire.Script }
	permit struct{ acquire, raise, extend, release, probe *wire.Script }
}

// DefaultScripts are the scripts of every Locker that no test harness has broken.
var DefaultScripts = NewScripts(nil)

// NewScripts prepares the scripts. If rewrite is not nil, it may change each text; name is the script's name.
func NewScripts(rewrite func(name, text string) string) *Scripts {
	s := &Scripts{}
	for _, one := range []struct {
		script      **wire.Script
		name, parts string // the parts are files in lua
	}{
		{&s.inspect, "inspect", "common fence kinds inspect"},
		{&s.withdraw, "withdraw", "common withdraw"},
		{&s.release, "token_release", "common entries kinds token_release"},
		{&s.mutex.fenced, "mutex_fenced", "mutex_fenced common fence mutex_acquire"},
		{&s.mutex.acquire, "mutex_acquire", "common fence mutex_acquire"},
		{&s.mutex.raise, "mutex_raise", "common fence mutex_common mutex_raise"},
		{&s.mutex.extend, "mutex_extend", "common fence mutex_common mutex_extend"},
		{&s.mutex.release, "mutex_release", "mutex_release"},
		{&s.mutex.keep, "mutex_keep", "mutex_keep"},
		{&s.mutex.probe, "mutex_probe", "common entries mutex_probe"},
		{&s.entry.acquire, "entry_acquire", "entry_free common fence entries kinds entry_common entry_fence entry_acquire"},
		{&s.entry.raise, "entry_raise", "common fence entries kinds entry_common entry_fence entry_raise"},
		{&s.entry.extend, "entry_extend", "common fence entries kinds entry_common entry_fence entry_extend"},
		{&s.entry.release, "entry_release", "entry_release"},
		{&s.entry.keep, "entry_keep", "common entries entry_keep"},
		{&s.entry.probe, "entry_probe", "common entries kinds entry_common entry_probe"},
		{&s.permit.acquire, "permit_acquire", "permit_free common fence entries permit_common permit_acquire"},
		{&s.permit.raise, "permit_raise", "common fence permit_common permit_raise"},
		{&s.permit.extend, "permit_extend", "common fence entries permit_common permit_extend"},
		{&s.permit.release, "permit_release", "permit_release"},
		{&s.permit.probe, "permit_probe", "common permit_common permit_probe"},
	} {
		text := source(one.parts)
		if rewrite != nil {
			text = rewrite(one.name, text)
		}
		*one.script = wire.NewScript(text)
	}
	return s
}

//go:embed lua/*.lua
var lua embed.FS

// source returns the text of a script with these parts, which are names of files in lua without the ending, separated
// by spaces.
func source(parts string) string {
	var text strings.Builder
	for part := range strings.FieldsSeq(parts) {
		file, err := lua.ReadFile("lua/" + part + ".lua")
		if err != nil {
			panic("redlock: " + err.Error())
		}
		text.Write(file)
	}
	return text.String()
}
