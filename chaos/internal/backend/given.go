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

// Given is the name of the backend of the user's masters, see [Take]. Open does not know it.
const Given = "given"

// Take returns the user's masters if a run can use them: the doctor finds nothing dangerous, and a run has the rights
// to look at them. Otherwise the error says for each what is wrong and what to do. Others may use the masters at the
// same time: a run locks on them and inspects them, and touches only names with its mark. The mark is unique to the
// run, and is the name of the run's connections.
func Take(ctx context.Context, urls []string, mark string) (*Backend, error) {
	b := &Backend{Prefix: mark + ":", direct: urls, mark: mark}
	if err := b.examine(ctx); err != nil {
		return nil, err
	}
	var names []string
	for _, rawURL := range urls {
		u, err := url.Parse(rawURL)
		if err != nil {
			return nil, errors.New("the URL of a master cannot be read") // Open has said more
		}
		names = append(names, u.Redacted())
		q := u.Query()
		q.Set("client_name", mark) // of the connections
		u.RawQuery = q.Encode()
		b.URLs = append(b.URLs, u.String())
	}
	b.Notes = append(b.Notes, fmt.Sprintf("the masters are the user's: %s; everything of this run has %q in its name; "+
		"its fencing counters stay for a day, and end by themselves", strings.Join(names, ", "), mark))
	inspector, err := b.NewInspector()
	if err != nil {
		return nil, err
	}
	defer inspector.Close()
	var errs []error
	for m := range urls {
		_, err1 := inspector.Keys(ctx, m)
		_, _, err2 := inspector.Sockets(ctx, m)
		if err := errors.Join(err1, err2); err != nil {
			errs = append(errs, fmt.Errorf("master %s cannot be looked at: %w; besides what a lock needs (docs/masters.md, "+
				"Rights) a run needs the keys ~%s* and ~redlock:*, the channels &redlock:%s*, and +client|setname "+
				"+client|list +pubsub|channels +scan +info", names[m], err, PrefixBegin, PrefixBegin))
		}
	}
	return b, errors.Join(errs...)
}

// examine returns an error with what is dangerous about the masters.
func (b *Backend) examine(ctx context.Context) error {
	l, err := redlock.Open(b.direct)
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
			b.Notes = append(b.Notes, fmt.Sprintf("%s %s: %s", f.Node, f.Title, f.Why))
		}
	}
	return errors.Join(errs...)
}

// WithoutPassword returns a URL with its password hidden.
func WithoutPassword(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil {
		return "(a URL that cannot be read)"
	}
	return u.Redacted()
}

// PrefixBegin is the beginning of every run's mark.
const PrefixBegin = "redlock-chaos:"
