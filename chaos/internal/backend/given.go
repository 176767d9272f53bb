package backend

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/doctor"
)

// Given is the name of the backend of the user's masters, see [GivenMasters]. Open does not know it.
const Given = "given"

// GivenMasters are masters of the user, which others may use at the same time. A run locks on them and inspects them.
// It cannot harm them, and touches only names with the run's prefix.
type GivenMasters struct {
	given  []string // as the user wrote them
	urls   []string // with the prefix
	prefix string
	notes  []string // what the doctor warns of
}

// Take returns the user's masters if a run can use them: the doctor finds nothing dangerous, and a run has the rights
// to look at them. Otherwise the error says for each what is wrong and what to do. The prefix is unique to the run. It
// is part of all names that the run locks, and it is the name of the run's connections.
func Take(ctx context.Context, urls []string, prefix string) (*GivenMasters, error) {
	g := &GivenMasters{given: urls, prefix: prefix}
	if err := g.examine(ctx); err != nil {
		return nil, err
	}
	for _, u := range urls {
		marked, err := marked(u, prefix)
		if err != nil {
			return nil, err
		}
		g.urls = append(g.urls, marked)
	}
	inspector, err := g.NewInspector()
	if err != nil {
		return nil, err
	}
	defer inspector.Close()
	var errs []error
	for m := range g.urls {
		_, err1 := inspector.Keys(ctx, m)
		_, _, err2 := inspector.Sockets(ctx, m)
		if err := errors.Join(err1, err2); err != nil {
			errs = append(errs, fmt.Errorf("master %s cannot be looked at: %w; besides what a lock needs (docs/masters.md, "+
				"Rights) a run needs the keys ~%s* and ~redlock:*, the channels &redlock:%s*, and +client|setname "+
				"+client|list +pubsub|channels +scan +info", WithoutPassword(g.given[m]), err, PrefixBegin, PrefixBegin))
		}
	}
	return g, errors.Join(errs...)
}

// examine returns an error with what is dangerous about the masters.
func (g *GivenMasters) examine(ctx context.Context) error {
	l, err := redlock.Open(g.given)
	if err != nil {
		return err
	}
	report, err := doctor.Examine(ctx, l, doctor.WithSpan(time.Second))
	errs := []error{err, l.Close()}
	for _, f := range report.Findings {
		switch f.Severity {
		case doctor.Danger:
			errs = append(errs, errors.New(f.String()))
		case doctor.Warning:
			g.notes = append(g.notes, fmt.Sprintf("%s %s: %s", f.Node, f.Title, f.Why))
		}
	}
	return errors.Join(errs...)
}

// marked returns the URL of a master for connections whose name is prefix.
func marked(rawURL, prefix string) (string, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return "", errors.New("the URL of a master cannot be read") // Open has said more
	}
	q := u.Query()
	q.Set("client_name", prefix)
	u.RawQuery = q.Encode()
	return u.String(), nil
}

// WithoutPassword returns a URL with its password hidden.
func WithoutPassword(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil {
		return "(a URL that cannot be read)"
	}
	return u.Redacted()
}

// PrefixBegin is the beginning of every run's prefix.
const PrefixBegin = "redlock-chaos:"

// Prefix returns the beginning of all names that the run locks.
func (g *GivenMasters) Prefix() string { return g.prefix + ":" }

// URLs returns the masters' URLs for clients.
func (g *GivenMasters) URLs() []string { return g.urls }

// Masters returns the number of masters.
func (g *GivenMasters) Masters() int { return len(g.urls) }

// NewInspector returns an inspector that sees only what has the prefix of the run. The caller must close it.
func (g *GivenMasters) NewInspector() (Inspector, error) { return NewInspector(g.given, g.prefix) }

// Close does nothing: the masters keep running.
func (g *GivenMasters) Close() error { return nil }

// Notes returns remarks on the masters for the report.
func (g *GivenMasters) Notes() []string {
	var names []string
	for _, u := range g.given {
		names = append(names, WithoutPassword(u))
	}
	return append(g.notes, fmt.Sprintf("the masters are the user's: %s; everything of this run has %q in its name; its "+
		"fencing counters stay for a day, and end by themselves", strings.Join(names, ", "), g.prefix))
}
