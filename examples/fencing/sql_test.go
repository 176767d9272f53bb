package fencing_test

import (
	"database/sql"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/redlock-go/redlock/examples/fencing"
)

func table(t *testing.T) fencing.Table {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+t.TempDir()+"/reports.db")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	_, err = db.ExecContext(t.Context(), fencing.Schema)
	require.NoError(t, err)
	return fencing.Table{DB: db}
}

func report(t *testing.T, db fencing.Table) (body string) {
	t.Helper()
	require.NoError(t, db.DB.QueryRowContext(t.Context(), `SELECT body FROM reports WHERE name = 'nightly'`).Scan(&body))
	return body
}

// The control: without the token the late write of a holder that was paused wins.
func TestATableWithoutFencesTakesALateWrite(t *testing.T) {
	t.Parallel()
	db := table(t)
	early, late := paused(t)
	require.NoError(t, db.Save(t.Context(), late, "nightly", "the second holder's"))
	_, err := db.DB.ExecContext(
		t.Context(), `UPDATE reports SET body = $1, fence = $2`, "the first holder's", int64(early),
	)
	require.NoError(t, err)
	assert.Equal(t, "the first holder's", report(t, db), "lost: what the second holder wrote")
}

func TestATableRefusesALateWrite(t *testing.T) {
	t.Parallel()
	db := table(t)
	save := func(fence uint64, text string) error { return db.Save(t.Context(), fence, "nightly", text) }
	refusesLateWrites(t, save, func() string { return report(t, db) })
	err := db.Change(t.Context(), 1, "nightly", func(string) string { return "an early holder's" })
	require.ErrorIs(t, err, fencing.ErrStale)
	assert.Equal(t, "the second holder's, again", report(t, db))
}

func TestSaveFirstWritesOnceForEachLock(t *testing.T) {
	t.Parallel()
	db := table(t)
	early, late := paused(t)
	require.NoError(t, db.Save(t.Context(), 1, "nightly", ""))
	require.NoError(t, db.SaveFirst(t.Context(), early, "nightly", "one"))
	require.NoError(t, db.SaveFirst(t.Context(), early, "nightly", "one, repeated"), "its answer might have been lost")
	assert.Equal(t, "one", report(t, db))
	require.NoError(t, db.SaveFirst(t.Context(), late, "nightly", "two"))
	require.ErrorIs(t, db.SaveFirst(t.Context(), early, "nightly", "one"), fencing.ErrStale)
	assert.Equal(t, "two", report(t, db))
}

// A holder that was paused may come before the first write of the one after it, whose token the table has not seen yet.
// Its write is taken. If the later holder has read meanwhile, it writes over it. So who reads and writes leaves its
// token first.
func TestChangeLeavesItsTokenBeforeItReads(t *testing.T) {
	t.Parallel()
	early, late := paused(t)
	control := table(t)
	require.NoError(t, control.Save(t.Context(), 1, "nightly", "a"))
	was := report(t, control)
	require.NoError(t, control.Save(t.Context(), early, "nightly", was+"b"), "accepted")
	require.NoError(t, control.Save(t.Context(), late, "nightly", was+"c"))
	require.Equal(t, "ac", report(t, control), "and lost")

	db := table(t)
	require.NoError(t, db.Save(t.Context(), 1, "nightly", "a"))
	err := db.Change(t.Context(), late, "nightly", func(was string) string {
		assert.ErrorIs(
			t, db.Save(t.Context(), early, "nightly", was+"b"), fencing.ErrStale, "refused, before the late one's write",
		)
		return was + "c"
	})
	require.NoError(t, err)
	assert.Equal(t, "ac", report(t, db))
}

// The same the other way round: the lock passes on while a holder thinks about what it read.
func TestChangeIsRefusedWhenTheLockPassesOnMeanwhile(t *testing.T) {
	t.Parallel()
	early, late := paused(t)
	db := table(t)
	require.NoError(t, db.Save(t.Context(), 1, "nightly", "a"))
	err := db.Change(t.Context(), early, "nightly", func(was string) string {
		assert.NoError(t, db.Change(t.Context(), late, "nightly", func(was string) string { return was + "c" }))
		return was + "b"
	})
	require.ErrorIs(t, err, fencing.ErrStale)
	assert.Equal(t, "ac", report(t, db))
}
