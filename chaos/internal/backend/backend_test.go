package backend_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/backend"
	"github.com/redlock-go/redlock/chaos/internal/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }

// soon is longer than anything here takes on a busy machine.
const soon = 30 * time.Second

func TestAnUnreadableURLIsAnError(t *testing.T) {
	t.Parallel()
	_, err := backend.NewInspector([]string{"redis://127.0.0.1:1", "gopher://x"}, "")
	require.ErrorContains(t, err, "gopher")
}
