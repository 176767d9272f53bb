package backend

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/redlock-go/redlock"
)

// Given is the name of the backend of the user's masters, see [GivenMasters]. Open does not know it.
const Given = "given"

// GivenMasters are masters of the user, which others may use at the same time. A run locks on them and inspects them.
// It cannot harm them, and touches only names with the run's prefix.
type GivenMasters struct {
	given  []string // as the user wrote them
	urls   []string // with the prefix
	prefix string
	infos  []map[string]string
}

// Take returns the user's masters if a run can use them: each can be reached with the rights that a run needs, each is
// a master, and no two are the same server. Otherwise the error says for each what is wrong and what to do. The prefix
// is unique to the run. It is part of all names that the run locks, and it is the name of the run's connections.
func Take(ctx context.Context, urls []string, prefix string) (*GivenMasters, error) {
	l, err := redlock.Open(urls) // which sends nothing, and hides passwords in its errors
	if err != nil {
		return nil, err
	}
	if err := l.Close(); err != nil {
		return nil, err
	}
	g := &GivenMasters{given: urls, prefix: prefix, infos: make([]map[string]string, len(urls))}
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
	if err := errors.Join(
		g.each(func(m int) error { return g.inspect(ctx, inspector, m) }),
		g.checkDuplicates(),
	); err != nil {
		return nil, err
	}
	return g, g.each(func(m int) error { return g.try(ctx, m) })
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

// each calls a function for all masters at once. The error names the masters for which it failed.
func (g *GivenMasters) each(do func(m int) error) error {
	errs := make([]error, len(g.urls))
	var all errgroup.Group
	for m := range g.urls {
		all.Go(func() error {
			if err := do(m); err != nil {
				errs[m] = fmt.Errorf("master %s %w", g.Name(m), err)
			}
			return nil
		})
	}
	_ = all.Wait() // errs has the errors
	return errors.Join(errs...)
}

// Name returns the URL of a master without its password.
func (g *GivenMasters) Name(m int) string { return WithoutPassword(g.given[m]) }

// WithoutPassword returns a URL with its password hidden.
func WithoutPassword(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil {
		return "(a URL that cannot be read)"
	}
	return u.Redacted()
}

// inspect returns an error if m is not a master or does not grant the rights to inspect it.
func (g *GivenMasters) inspect(ctx context.Context, inspector Inspector, m int) error {
	if err := inspector.Ping(ctx, m); err != nil {
		return fmt.Errorf("cannot be used: %w; %s", err, remedy(err))
	}
	info, err := inspector.Info(ctx, m)
	if err != nil {
		return fmt.Errorf("does not answer INFO: %w; %s", err, remedy(err))
	}
	g.infos[m] = info
	switch {
	case info["role"] != "master":
		return fmt.Errorf(
			"is a %s of %s:%s: give the address of a master, and of each once",
			strings.Replace(info["role"], "slave", "replica", 1),
			cmp.Or(info["master_host"], "?"),
			cmp.Or(info["master_port"], "?"),
		)
	case info["cluster_enabled"] == "1":
		return errors.New("is a node of a Cluster, which keeps some names only: give masters that are no Cluster")
	}
	_, err1 := inspector.Keys(ctx, m)
	_, _, err2 := inspector.Sockets(ctx, m)
	if err := errors.Join(err1, err2); err != nil {
		return fmt.Errorf("cannot be looked at: %w; %s", err, remedy(err))
	}
	return nil
}

// checkDuplicates returns an error if two URLs lead to one server.
func (g *GivenMasters) checkDuplicates() error {
	var errs []error
	seen := map[string]int{}
	for m, info := range g.infos {
		id := info["run_id"]
		if first, twice := seen[id]; twice && id != "" {
			errs = append(
				errs,
				fmt.Errorf("masters %s and %s are one and the same server: give each master once, as one cannot vote twice",
					g.Name(first), g.Name(m)),
			)
			continue
		}
		seen[id] = m
	}
	return errors.Join(errs...)
}

// try acquires and releases a lock of each kind on a single master.
func (g *GivenMasters) try(ctx context.Context, m int) error {
	const ttl, patience = 2 * time.Second, 5 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	l, err := redlock.Open(g.urls[m:m+1], redlock.WithTTL(ttl), redlock.WithoutRestartGuard(),
		redlock.WithNodeTimeout(ttl/4))
	if err != nil {
		return err
	}
	name := g.Prefix() + "try"
	for _, take := range []func(context.Context, ...redlock.LockOption) (*redlock.Lock, error){
		func(ctx context.Context, o ...redlock.LockOption) (*redlock.Lock, error) {
			return l.Lock(ctx, name, o...)
		},
		l.RW(name + "-rw").Lock,
	} {
		var lock *redlock.Lock
		if lock, err = take(ctx, redlock.WithFencing()); err == nil {
			err = lock.Unlock(ctx)
		}
		if err != nil {
			err = fmt.Errorf("gave no lock: %w; %s", err, remedy(err))
			break
		}
	}
	if closing := l.Close(); err == nil {
		err = closing
	}
	return err
}

// remedy returns what the user can do about an error.
func remedy(err error) string {
	text := err.Error()
	has := func(parts ...string) bool {
		for _, p := range parts {
			if strings.Contains(text, p) {
				return true
			}
		}
		return false
	}
	switch {
	case has("NOAUTH", "WRONGPASS", "AUTH"):
		return "give the user and the password in its URL, as in redis://user:password@host:6379"
	case has("x509:", "tls:"):
		return "check its certificate; SSL_CERT_FILE may name that of an authority of your own"
	case has("NOPERM", "ACL"):
		return fmt.Sprintf(
			"besides what a lock needs (docs/masters.md, Rights) a run needs the keys ~%s* and ~redlock:*, the channels "+
				"&redlock:%s*, and "+
				"+client|setname +client|list +pubsub|channels +scan +info",
			PrefixBegin,
			PrefixBegin,
		)
	case has("LOADING", "MASTERDOWN", "BUSY"):
		return "try again when it is ready"
	default:
		return "check its address, that it runs, that nothing between here and there keeps connections out, and whether " +
			"it speaks TLS (rediss://) or not (redis://)"
	}
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
func (g *GivenMasters) NewInspector() (Inspector, error) { return NewInspectorFor(g.given, g.prefix) }

// Close does nothing: the masters keep running.
func (g *GivenMasters) Close() error { return nil }

// Notes returns remarks on the masters for the report.
func (g *GivenMasters) Notes() []string {
	notes := []string{
		fmt.Sprintf(
			"the masters are the user's: %s; everything of this run has %q in its name; its fencing counters stay for a day, "+
				"and end by themselves",
			strings.Join(g.names(), ", "),
			g.prefix,
		),
	}
	for m, info := range g.infos {
		if policy := info["maxmemory_policy"]; info["maxmemory"] != "0" && policy != "" && policy != "noeviction" {
			notes = append(
				notes,
				fmt.Sprintf(
					"master %s may evict locks when its memory is full: its maxmemory-policy is %s, and should be noeviction",
					g.Name(m),
					policy,
				),
			)
		}
	}
	return notes
}

func (g *GivenMasters) names() []string {
	names := make([]string, len(g.given))
	for m := range names {
		names[m] = g.Name(m)
	}
	return names
}
