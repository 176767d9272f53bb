package node

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/redis/go-redis/v9"
)

// parse reads a master's URL. Its errors show the URL without user and password, also one that cannot be read.
func parse(rawURL string) (*redis.Options, error) {
	o, err := read(rawURL)
	if err == nil {
		return o, nil
	}
	shown, bare, secret := hide(rawURL)
	if secret {
		// The error may quote what it took for the host, and that may be half of a password. So it is looked for in
		// what is shown.
		if _, err = read(bare); err == nil {
			err = errors.New("the user or the password cannot be read: percent-encode its special characters, as in %40 for @ and %2F for /")
		}
	}
	return nil, fmt.Errorf("redlock: master %q: %w", shown, err)
}

// hide replaces user and password, if there may be any: everything before the last @ but a scheme. bare has none.
func hide(rawURL string) (shown, bare string, secret bool) {
	at := strings.LastIndexByte(rawURL, '@')
	if at < 0 {
		return rawURL, rawURL, false
	}
	scheme, _, ok := strings.Cut(rawURL[:at], "://")
	if ok && strings.Trim(scheme, "abcdefghijklmnopqrstuvwxyz+") == "" {
		scheme += "://"
	} else {
		scheme = ""
	}
	return scheme + "xxxxx@" + rawURL[at+1:], scheme + rawURL[at+1:], true
}

func read(rawURL string) (*redis.Options, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		var inner *url.Error // quotes the whole URL
		if errors.As(err, &inner) {
			err = inner.Err
		}
		return nil, fmt.Errorf("the URL cannot be read: %w; it should look like redis://user:password@host:6379", err)
	}
	switch {
	case u.Scheme != "redis" && u.Scheme != "rediss" && u.Scheme != "unix":
		return nil, fmt.Errorf("unknown scheme %q: use redis://, rediss:// or unix://", u.Scheme)
	case u.Fragment != "":
		return nil, errors.New("a # has no meaning here: write %23 if it belongs to the password")
	case u.Scheme == "unix" && u.Host != "":
		return nil, fmt.Errorf("host %q in front of the path: a socket's URL is unix:///path", u.Host)
	case u.Scheme != "unix" && u.Hostname() == "":
		return nil, errors.New("no host; it should look like redis://user:password@host:6379")
	}
	o, err := redis.ParseURL(rawURL)
	if err != nil {
		return nil, err
	}
	if o.MaxRetries > 0 {
		return nil, fmt.Errorf("max_retries=%d: it must be left out: a client that repeats SET NX by itself reads its own key as somebody else's", o.MaxRetries)
	}
	if o.Network == "" {
		o.Network = "tcp"
	}
	return o, nil
}
