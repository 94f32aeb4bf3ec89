package measure

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"
)

// errNotHere says that a workload needs the server's process or files.
var errNotHere = errors.New("needs the server's process or data directory on this machine")

// compactLimit bounds how long a compaction may take.
const compactLimit = 5 * time.Minute

// diskSize measures how much a data directory grows by documents, of which one in five was edited
// once, after compaction.
func diskSize() *workload {
	const name = "disk"
	return &workload{
		name: name, unit: "MB", lessIsBetter: true, once: true, databases: []string{name},
		about:   "growth of the data directory by 1 KB documents, every fifth edited once, after compaction",
		prepare: func(context.Context, *session) error { return nil },
		round: func(ctx context.Context, s *session, _ plan) (sample, error) {
			if s.target.DataDir == "" {
				return sample{}, errNotHere
			}
			before, err := diskUsage(s.target.DataDir)
			if err != nil {
				return sample{}, err
			}
			if err := s.fill(ctx, name, s.size.diskDocuments); err != nil {
				return sample{}, err
			}
			if err := s.editFifth(ctx, name); err != nil {
				return sample{}, err
			}
			if err := s.compact(ctx, name); err != nil {
				return sample{}, err
			}
			after, err := settledDiskUsage(ctx, s.target.DataDir, s.size.diskSteady)
			return sample{value: float64(after-before) / megabyte}, err
		},
	}
}

// editFifth edits every fifth batch of documents, which leaves old revisions for a compaction to
// remove.
func (s *session) editFifth(ctx context.Context, name string) error {
	c, err := s.connect(ctx, compactLimit)
	if err != nil {
		return err
	}
	defer c.close()
	var body []byte
	for first := int64(0); first < s.size.diskDocuments; first += 5 * int64(s.size.bulk) {
		if body, err = s.appendEdits(ctx, c, body[:0], name, first); err != nil {
			return err
		}
		if _, err := s.request(ctx, "POST", s.db(name)+"/_bulk_docs", body, 201); err != nil {
			return err
		}
	}
	return nil
}

// appendEdits writes a _bulk_docs request with new revisions of every fifth document from first on.
func (s *session) appendEdits(ctx context.Context, c *conn, b []byte, name string, first int64) ([]byte, error) {
	count := min(int64(s.size.bulk), (s.size.diskDocuments-first+4)/5)
	return s.appendRevisions(ctx, c, b, name, count, func(i int64) int64 { return first + 5*i })
}

// appendRevisions writes a _bulk_docs request with new revisions of count documents, which pick
// chooses. The revisions come from _all_docs.
func (s *session) appendRevisions(
	ctx context.Context,
	c *conn,
	b []byte,
	name string,
	count int64,
	pick func(int64) int64,
) ([]byte, error) {
	keys := []byte(`{"keys":[`)
	for i := range count {
		if i > 0 {
			keys = append(keys, ',')
		}
		keys = append(appendID(append(keys, '"'), pick(i)), '"')
	}
	c.keep = true
	req := &request{method: "POST", path: []byte(s.db(name) + "/_all_docs"), body: append(keys, "]}"...)}
	if _, err := c.do(ctx, req, 200); err != nil {
		return nil, err
	}
	rest := c.body
	b = append(b, `{"docs":[`...)
	for i := range count {
		var found bool
		if _, rest, found = bytes.Cut(rest, []byte(`"rev":"`)); !found {
			return nil, fmt.Errorf("_all_docs of %d keys has fewer revisions", count)
		}
		rev, _, _ := bytes.Cut(rest, []byte(`"`))
		if i > 0 {
			b = append(b, ',')
		}
		b = appendID(append(b, `{"_id":"`...), pick(i))
		b = append(append(append(b, `","_rev":"`...), rev...), `",`...)
		b = append(b, s.docs.body(pick(i) + 1)[1:]...)
	}
	return append(b, "]}"...), nil
}

// compact compacts a database and waits until that is done.
func (s *session) compact(ctx context.Context, name string) error {
	if _, err := s.request(ctx, "POST", s.db(name)+"/_compact", nil, 202); err != nil {
		return err
	}
	for end := time.Now().Add(compactLimit); time.Now().Before(end); {
		if err := sleep(ctx, diskPoll); err != nil {
			return err
		}
		info, err := s.request(ctx, "GET", s.db(name), nil, 200)
		if err != nil {
			return err
		}
		if bytes.Contains(info, []byte(`"compact_running":false`)) {
			return nil
		}
	}
	return fmt.Errorf("server %s: the compaction takes longer than %s", s.target.Name, compactLimit)
}
