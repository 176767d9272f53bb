package peers

import (
	"runtime/debug"
)

// Label returns the name of a contestant as a reader sees it. It distinguishes redlock from bsm/redislock. Flags
// and saved runs keep the short name.
func Label(name string) string {
	if name == Redislock {
		return "bsm/redislock"
	}
	return name
}

// A Version is a client library that the benchmark was built with.
type Version struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// libraries are the modules of the peers, in the order in which reports name them.
var libraries = []struct{ name, module string }{
	{"redsync", "github.com/go-redsync/redsync/v4"},
	{"bsm/redislock", "github.com/bsm/redislock"},
	{"rueidislock", "github.com/redis/rueidis"},
	{"go-redis", "github.com/redis/go-redis/v9"},
}

// Versions returns the versions of the peers' libraries in this program. It leaves out those that the build does not
// name.
func Versions() []Version {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return nil
	}
	return versionsIn(build.Deps)
}

func versionsIn(deps []*debug.Module) (all []Version) {
	for _, l := range libraries {
		for _, d := range deps {
			if d.Path != l.module {
				continue
			}
			if d.Replace != nil {
				d = d.Replace
			}
			all = append(all, Version{Name: l.name, Version: d.Version})
		}
	}
	return all
}
