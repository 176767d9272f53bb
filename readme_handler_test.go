package redlock_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/redlock-go/redlock/redlocktest"
)

// The README's handler lets go of the lock when the booking panics, and says that a name is taken only if it is.
func TestTheHandlerOfTheREADMEWhenThingsGoWrong(t *testing.T) {
	t.Parallel()
	locker, masters := redlocktest.StartLocker(t, 3)
	s := &shop{locker, func(context.Context, string) error { panic("booking") }}
	ship := func() int {
		answer := httptest.NewRecorder()
		s.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil))
		return answer.Code
	}
	assert.PanicsWithValue(t, "booking", func() { ship() })
	s.book = func(context.Context, string) error { return nil }
	assert.Equal(t, http.StatusOK, ship())
	masters[0].Hold("orders:", ttl)
	masters[1].Hold("orders:", ttl)
	assert.Equal(t, http.StatusConflict, ship())
	masters[0].Stop()
	masters[1].Stop()
	assert.Equal(t, http.StatusServiceUnavailable, ship())
}
