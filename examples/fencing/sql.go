package fencing

import (
	"context"
	"database/sql"
	"errors"
)

// Schema is the table: in addition to its data, each row has the largest token that has written to it.
const Schema = `
CREATE TABLE reports (
	name  TEXT PRIMARY KEY,
	body  TEXT NOT NULL,
	fence BIGINT NOT NULL
)`

// Table keeps reports in a SQL database. Its statements run on PostgreSQL and on SQLite alike.
type Table struct{ DB *sql.DB }

// Save writes a report unless a later holder has written it. The holder may save again, and may repeat a Save whose
// outcome is unknown.
func (t Table) Save(ctx context.Context, fence uint64, name, body string) error {
	return t.once(ctx, `
		INSERT INTO reports (name, body, fence) VALUES ($1, $2, $3)
		ON CONFLICT (name) DO UPDATE SET body = excluded.body, fence = excluded.fence
		WHERE reports.fence <= excluded.fence`, name, body, int64(fence))
}

// SaveFirst updates an existing report, once for each lock. The condition also refuses a repeated write, so SaveFirst
// then reads whose token is there.
func (t Table) SaveFirst(ctx context.Context, fence uint64, name, body string) error {
	err := t.once(ctx, `UPDATE reports SET body = $2, fence = $3 WHERE name = $1 AND fence < $3`, name, body, int64(fence))
	if !errors.Is(err, ErrStale) {
		return err
	}
	var last int64
	if err := t.DB.QueryRowContext(ctx, `SELECT fence FROM reports WHERE name = $1`, name).Scan(&last); err != nil {
		return err
	}
	if uint64(last) == fence {
		return nil // our own write, whose reply was lost
	}
	return ErrStale
}

// Change reads a report and writes what change returns. It stores its token before it reads, so that no earlier holder
// can overwrite what was read.
func (t Table) Change(ctx context.Context, fence uint64, name string, change func(body string) string) error {
	err := t.once(ctx, `UPDATE reports SET fence = $2 WHERE name = $1 AND fence <= $2`, name, int64(fence))
	if err != nil {
		return err
	}
	var body string
	if err := t.DB.QueryRowContext(ctx, `SELECT body FROM reports WHERE name = $1`, name).Scan(&body); err != nil {
		return err
	}
	return t.once(ctx, `UPDATE reports SET body = $2 WHERE name = $1 AND fence = $3`, name, change(body), int64(fence))
}

// once runs a statement that changes one row, or none if the token is stale.
func (t Table) once(ctx context.Context, statement string, args ...any) error {
	result, err := t.DB.ExecContext(ctx, statement, args...)
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n > 0 {
		return err
	}
	return ErrStale
}
