package node

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// credentials returns the user and the password for one connection.
type credentials = func(ctx context.Context) (user, password string, err error)

// WithCredentials sets a function that returns the user and the password, for passwords that rotate and tokens that
// expire. The default is the user and the password in the URL. The node calls it for every connection that it makes:
// for requests, to repeat releases, and for subscriptions. An empty user is Redis' default user. Without user and
// password there is no authentication.
//
// The function must be safe for concurrent use, and must return soon after ctx ends. ctx ends when the time for the
// attempt to connect is over, at least a second after it began. If the function returns an error, the attempt fails,
// and the next attempt calls the function again. A password that the server refuses is a permanent error (see
// [Permanent]), so let the server accept both passwords until the function returns the new one. An open connection
// stays authenticated when its password changes.
//
// A nil function is an error. A URL with a user or a password is an error, too, and so is [Wrap]: its client has a
// CredentialsProviderContext of its own.
func WithCredentials(get func(ctx context.Context) (user, password string, err error)) Option {
	return func(s *settings) {
		if get == nil {
			s.err = errors.New("redlock: nil credentials: leave WithCredentials out to use those of the URL")
		}
		s.credentials = get
	}
}

// applyCredentials sets the credentials of the settings, if there are any.
func (s *settings) applyCredentials(o *redis.Options) error {
	switch {
	case s.credentials == nil:
		return nil
	case o.Username != "" || o.Password != "":
		return fmt.Errorf("redlock: master %s: WithCredentials for a URL with a user or a password: "+
			"leave one of them out", o.Addr)
	}
	o.CredentialsProviderContext = s.credentials
	return nil
}
