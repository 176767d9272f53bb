package doctor

import (
	"fmt"
	"time"

	"github.com/redlock-go/redlock/clock"
	"github.com/redlock-go/redlock/internal/resp"
	"github.com/redlock-go/redlock/internal/seam"
)

// Row is a rule as docs/doctor.md shows it.
type Row struct {
	ID                    ID
	Title, When, Why, Fix string
	Severity              Severity
}

// Rows returns all rules.
func Rows() (all []Row) {
	for _, r := range rules() {
		all = append(all, Row{r.id, r.title, r.when, r.why, r.fix, r.severity})
	}
	return all
}

// Seen is what a test says about one master.
type Seen struct {
	Name, Zone, Info, Remote, Local string
	Rate                            float64         // of its clock, against this host's
	Trips                           []time.Duration // of a hundred round trips; the others took 1 ms
	Sampled                         string          // the run_id that the samples showed, after INFO
	Config                          map[string]string
	Unknown                         []string // the questions that it does not know
}

// Judge returns the findings about masters of which only this is known, and about a host whose wall clock gained
// wallGain. It is for conditions that no server here can have.
func Judge(wallGain time.Duration, all ...Seen) Report {
	e := &exam{span: fullSpan, host: host{wallGain: wallGain, now: time.Unix(1, 0)}, deployment: seam.Deployment{
		Guard: true, TTL: 10 * time.Second, RestartWindow: 10 * time.Second, NodeTimeout: time.Second,
		Drift: clock.DefaultDrift,
	}}
	for _, s := range all {
		m := &master{
			name: s.Name, zone: s.Zone, config: s.Config, info: resp.ParseInfo(s.Info), remote: s.Remote, local: s.Local,
		}
		for _, question := range s.Unknown {
			m.refused = append(m.refused, refusal{question, resp.Error("ERR unknown command")})
		}
		for i := range samplesPerSpan {
			at := time.Duration(i) * fullSpan / samplesPerSpan
			one := sample{at: time.Unix(0, 0).Add(at), server: time.Unix(0, 0).Add(time.Duration(float64(at) * (1 + s.Rate)))}
			if one.roundTrip = time.Millisecond; i < len(s.Trips) {
				one.roundTrip = s.Trips[i]
			}
			one.runID = s.Sampled
			m.samples = append(m.samples, one)
		}
		e.masters = append(e.masters, m)
	}
	return e.report()
}

// Steps returns the steps and the certain drift found in samples of a clock that has a constant rate, and makes a step
// before the sample in the middle. The round trips follow one another. During each, the server reads its clock after
// the share part().
func Steps(rate float64, step time.Duration, trips []time.Duration, part func() float64) (
	all []time.Duration, certain float64,
) {
	m, start := &master{}, time.Unix(0, 0)
	asked := time.Duration(0)
	for i, trip := range trips {
		read := float64(asked) + part()*float64(trip)
		s := sample{at: start.Add(asked + trip/2), roundTrip: trip, server: start.Add(time.Duration(read * (1 + rate)))}
		if i >= len(trips)/2 {
			s.server = s.server.Add(step)
		}
		m.samples = append(m.samples, s)
		asked += trip
	}
	return m.steps()
}

// Endless returns the locks without a TTL of which the finding tells if SCAN returned keys of these names.
func Endless(names ...string) []string {
	var k keys
	for _, name := range names {
		k.addLock(candidate{name, keyEndless, "string"}, &k.likeLock)
	}
	return k.endless
}

// LockCommands returns the names of the commands that the trial executes by themselves.
func LockCommands() (names []string) {
	for _, c := range lockCommands("x") {
		names = append(names, fmt.Sprint(c[0]))
	}
	return names
}

// Lacks reports whether an error reply says that the user may not run a command, or that the server does not know it.
func Lacks(err error) (forbidden, unknown bool) { return missingCommand(err) }

// SetHugePagesFile replaces the file with the kernel's setting of transparent huge pages.
func SetHugePagesFile(path string) { hugePagesFile = path }
