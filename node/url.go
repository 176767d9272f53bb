package node

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// parse reads a master's URL, and the zone in its query. Its errors quote the URL without user and password, even if
// the URL is invalid.
func parse(rawURL string) (_ *redis.Options, zone string, _ error) {
	o, zone, err := parseURL(rawURL)
	if err == nil {
		return o, zone, nil
	}
	shown, bare, secret := redact(rawURL)
	if secret {
		// The error may quote half of a password as the host. So the error of the redacted URL replaces it.
		if _, _, err = parseURL(bare); err == nil {
			err = errors.New("the user, the password or the port cannot be read: " +
				"it should look like redis://user:password@host:6379, " +
				"with the special characters of a password percent-encoded, as in %40 for @ and %2F for /")
		}
	}
	return nil, "", fmt.Errorf("redlock: master %q: %w", shown, err)
}

// redact replaces what may be secret in a URL: everything between the scheme and the last @, and the query. Without an
// @, it replaces everything after the scheme if the port is not a number. shown is the result, bare is the URL without
// user and password, and secret reports whether more than the query was replaced.
func redact(rawURL string) (shown, bare string, secret bool) {
	scheme, rest, ok := strings.Cut(rawURL, "://")
	if ok && strings.Trim(scheme, "abcdefghijklmnopqrstuvwxyz+") == "" {
		scheme += "://"
	} else {
		scheme, rest = "", rawURL
	}
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		rest = rest[at+1:]
		return scheme + "xxxxx@" + redactQuery(rest), scheme + rest, true
	}
	host, _, _ := strings.Cut(rest, "/")
	host, _, _ = strings.Cut(host, "?")
	_, port, _ := strings.Cut(host[strings.LastIndexByte(host, ']')+1:], ":")
	if strings.Trim(port, "0123456789") != "" {
		return scheme + "xxxxx", scheme + "xxxxx", true
	}
	return redactQuery(rawURL), rawURL, false
}

func redactQuery(rawURL string) string {
	if before, _, ok := strings.Cut(rawURL, "?"); ok {
		return before + "?xxxxx"
	}
	return rawURL
}

func parseURL(rawURL string) (_ *redis.Options, zone string, _ error) {
	if strings.TrimSpace(rawURL) != rawURL {
		return nil, "", errors.New("the URL begins or ends with white space")
	}
	u, err := url.Parse(rawURL)
	if err != nil {
		var inner *url.Error // this quotes the whole URL
		if errors.As(err, &inner) {
			err = inner.Err
		}
		return nil, "", fmt.Errorf("the URL cannot be read: %w; it should look like redis://user:password@host:6379", err)
	}
	switch {
	case u.Scheme != "redis" && u.Scheme != "rediss" && u.Scheme != "unix":
		return nil, "", fmt.Errorf("unknown scheme %q: use redis://, rediss:// or unix://", u.Scheme)
	case u.Fragment != "":
		return nil, "", errors.New("a # has no meaning here: write %23 if it belongs to the password")
	case u.Scheme == "unix" && u.Host != "":
		return nil, "", fmt.Errorf("host %q in front of the path: a socket's URL is unix:///path", u.Host)
	case strings.Contains(u.Hostname(), ":") && !isIP(u.Hostname()):
		return nil, "", errors.New("the host has more than one colon and is no IP address; " +
			"it should look like redis://user:password@host:6379")
	case u.Scheme != "unix" && u.Hostname() == "":
		return nil, "", errors.New("no host; it should look like redis://user:password@host:6379")
	case u.Port() != "" && !isPort(u.Port()):
		return nil, "", fmt.Errorf("port %s: it must be between 1 and 65535", u.Port())
	}
	if zone, err = cutZone(u); err != nil {
		return nil, "", err
	}
	o, err := redis.ParseURL(u.String())
	switch {
	case err != nil && strings.HasPrefix(err.Error(), unexpectedOption):
		return nil, "", fmt.Errorf("unknown query parameter %q: "+
			"client_name, db, protocol, skip_verify, zone and the other parameters of go-redis's ParseURL are known",
			strings.TrimPrefix(err.Error(), unexpectedOption))
	case err != nil:
		return nil, "", err
	}
	if o.DB < 0 {
		return nil, "", fmt.Errorf("database %d: it must be 0 or more", o.DB)
	}
	if o.MaxRetries > 0 {
		return nil, "", fmt.Errorf("max_retries=%d: it must be left out: "+
			"a client that repeats SET NX by itself takes its own key for another client's", o.MaxRetries)
	}
	return o, zone, nil
}

// cutZone removes the parameter zone from the URL's query, and returns it.
func cutZone(u *url.URL) (zone string, _ error) {
	query := u.Query()
	zones, ok := query["zone"]
	if !ok {
		return "", nil
	}
	if len(zones) > 1 {
		return "", fmt.Errorf("%d zones: a master is in one", len(zones))
	}
	zone = zones[0]
	query.Del("zone")
	u.RawQuery = query.Encode()
	return zone, nil
}

// unexpectedOption is the beginning of the error of go-redis that names unknown parameters.
const unexpectedOption = "redis: unexpected option: "

func isPort(port string) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n > 0
}

// checkUser returns an error for a URL with a user and no password. Such a user is not who a server would take the
// client for, and some tools read it as a password.
func checkUser(rawURL string) error {
	u, err := url.Parse(rawURL)
	if err != nil || u.User == nil {
		return nil
	}
	if _, ok := u.User.Password(); ok || u.User.Username() == "" {
		return nil
	}
	shown, _, _ := redact(rawURL)
	return fmt.Errorf("redlock: master %q: a user without a password: write redis://user:password@host, "+
		"redis://:password@host for the default user, or redis://user:@host for a user that needs none", shown)
}

func isIP(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}
