package doctor

import (
	"time"

	"github.com/redlock-go/redlock/clock"
	"github.com/redlock-go/redlock/internal/seam"
)

// Row is a rule as docs/doctor.md shows it.
type Row struct {
	Title, When string
	Severity    Severity
}

// Rows returns all rules.
func Rows() (all []Row) {
	for _, r := range rules() {
		all = append(all, Row{r.title, r.when, r.severity})
	}
	return all
}

// Seen is what a test says about one master.
type Seen struct {
	Name, Zone, Info, Remote, Local string
	Rate                            float64 // of its clock, against this host's
}

// Judge returns the findings about masters of which only this is known, and about a host whose wall clock gained
// wallGain. It is for conditions that no server here can have.
func Judge(wallGain time.Duration, all ...Seen) Report {
	e := &exam{span: fullSpan, host: host{wallGain: wallGain, now: time.Unix(1, 0)}, deployment: seam.Deployment{
		Guard: true, TTL: 10 * time.Second, RestartWindow: 10 * time.Second, NodeTimeout: time.Second,
		Drift: clock.DefaultDrift,
	}}
	for _, s := range all {
		m := &master{name: s.Name, zone: s.Zone, info: parseInfo(s.Info), remote: s.Remote, local: s.Local}
		for i := range 11 {
			at := time.Duration(i) * time.Second
			m.bursts = append(m.bursts, burst{samples: []sample{{
				at: time.Unix(0, 0).Add(at), server: time.Unix(0, 0).Add(time.Duration(float64(at) * (1 + s.Rate))),
			}}})
		}
		e.masters = append(e.masters, m)
	}
	return e.report()
}

// SetHugePagesFile replaces the file with the kernel's setting of transparent huge pages.
func SetHugePagesFile(path string) { hugePagesFile = path }
