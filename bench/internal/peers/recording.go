package peers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/bench/internal/delay"
)

// An exchange is what goes to a master, and what comes back.
type exchange struct{ request, reply []byte }

// A recording is what one lock and its unlock look like on the wire.
type recording struct {
	name, token  string
	lock, unlock exchange
}

const (
	recordedName = "bench:floor:000000"
	recordedTail = 6 // digits that distinguish names and tokens of one length
)

// record has redlock lock and unlock a name through a proxy that listens. The third pair counts: the first ones also
// set up the connection and load the script.
func record(ctx context.Context, master string, ttl time.Duration) (rec recording, err error) {
	u, err := url.Parse(master)
	if err != nil {
		return rec, err
	}
	var mu sync.Mutex
	var now exchange
	proxy, err := delay.New(u.Host, delay.Link{}, func(toServer bool, b []byte) {
		mu.Lock()
		defer mu.Unlock()
		if toServer {
			now.request = append(now.request, b...)
		} else {
			now.reply = append(now.reply, b...)
		}
	})
	if err != nil {
		return rec, err
	}
	defer func() { err = errors.Join(err, proxy.Close()) }()
	take := func() exchange {
		mu.Lock()
		defer mu.Unlock()
		last := now
		now = exchange{}
		return last
	}

	u.Host = proxy.Addr()
	locker, err := redlock.Open([]string{u.String()}, redlock.WithTTL(ttl), redlock.WithoutRestartGuard())
	if err != nil {
		return rec, err
	}
	defer func() { err = errors.Join(err, locker.Close()) }()
	for range 3 {
		take()
		lock, err := locker.Lock(ctx, recordedName)
		if err != nil {
			return rec, fmt.Errorf("recording a lock: %w", err)
		}
		rec = recording{name: recordedName, token: lock.Token(), lock: take()}
		if err := lock.Unlock(ctx); err != nil {
			return rec, fmt.Errorf("recording an unlock: %w", err)
		}
		rec.unlock = take()
	}
	return rec, rec.check()
}

// check makes sure that the recording is of what it should be: the floor must do all that a lock does.
func (r recording) check() error {
	for what, e := range map[string]exchange{"lock": r.lock, "unlock": r.unlock} {
		if !bytes.Contains(e.request, []byte(r.name)) || !bytes.Contains(e.request, []byte(r.token)) || len(e.reply) == 0 {
			return fmt.Errorf("the recorded %s does not name the lock and its token: %q, %q", what, e.request, e.reply)
		}
		if e.reply[0] == '-' {
			return fmt.Errorf("the recorded %s was refused: %q", what, e.reply)
		}
	}
	return nil
}

// times returns the exchange of n pairs at once, each with a name and a token of its own.
func (r recording) times(n int, of exchange) exchange {
	var all exchange
	tokenStem := r.token[:len(r.token)-recordedTail]
	nameStem := strings.TrimSuffix(r.name, strings.Repeat("0", recordedTail))
	for i := range n {
		tail := fmt.Sprintf("%0*d", recordedTail, i)
		one := bytes.ReplaceAll(of.request, []byte(r.name), []byte(nameStem+tail))
		one = bytes.ReplaceAll(one, []byte(r.token), []byte(tokenStem+tail))
		all.request = append(all.request, one...)
		all.reply = append(all.reply, of.reply...)
	}
	return all
}
