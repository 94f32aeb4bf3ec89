package migrate

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/settee-db/settee/replication/compare"
)

const (
	maxDifferences = 1000
	lookAgainAfter = 2 * time.Second
)

// verify compares the database on both sides.
func (d *database) verify(ctx context.Context) error {
	d.report.Differences = nil
	report, err := compare.Run(ctx, compare.Options{
		A: d.m.o.Source, B: d.m.o.Target, Names: [2]string{"the source", "the target"},
		Databases: []compare.Pair{{A: d.name, B: d.name}}, Wait: lookAgainAfter,
		Differs: func(line string) {
			if d.report.Different++; len(d.report.Differences) < maxDifferences {
				d.report.Differences = append(d.report.Differences, line)
			}
		},
		Looked: func(n int) { d.compared.Add(int64(n)) },
	})
	d.report.Verified = report.Revisions
	if err == nil && !report.Complete() {
		err = errors.New(strings.Join(report.Failed, "\n"))
	}
	return err
}
