package measure

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

const (
	// replicaDB is the target of replications; their source is viewDB.
	replicaDB = "replica"
	// replicationLimit bounds how long a replication may take.
	replicationLimit = 30 * time.Minute
)

func replicationWorkloads() []*workload {
	return []*workload{
		replicate("replicate-local", "both named without URL", false, false),
		replicate("replicate-push", "the target behind a URL", false, true),
		replicate("replicate-pull", "the source behind a URL", true, false),
	}
}

// replicate measures one replication of a whole database into a new one of the same server. Which
// end is behind a URL makes a difference to a server that can do without HTTP.
func replicate(name, about string, sourceURL, targetURL bool) *workload {
	return &workload{
		name: name, unit: "docs/s", once: true, about: "POST /_replicate of the database of the views, " + about,
		databases: []string{replicaDB},
		prepare:   func(ctx context.Context, s *session) error { return s.fill(ctx, viewDB, s.size.viewDocuments) },
		round: func(ctx context.Context, s *session, _ plan) (sample, error) {
			if err := s.drop(ctx, replicaDB); err != nil {
				return sample{}, err
			}
			if err := s.create(ctx, replicaDB); err != nil {
				return sample{}, err
			}
			restore := s.withoutJitter(ctx)
			defer restore()
			return s.replicate(ctx, s.endpoint(viewDB, sourceURL), s.endpoint(replicaDB, targetURL))
		},
	}
}

// endpoint is one end of a replication as JSON.
func (s *session) endpoint(db string, asURL bool) string {
	if !asURL {
		return strconv.Quote(s.db(db)[1:])
	}
	return fmt.Sprintf(`{"url":%q,"headers":{"Authorization":%q}}`, "http://"+s.target.Addr+s.db(db), s.target.Auth)
}

// withoutJitter switches off the random pause before replications, and returns what switches it on
// again. A server that does not let us is measured with it.
func (s *session) withoutJitter(ctx context.Context) (restore func()) {
	const path = "/_node/_local/_config/replicator/startup_jitter"
	if _, err := s.request(ctx, "PUT", path, []byte(`"1"`), 200); err != nil {
		return func() {}
	}
	return func() { _, _ = s.request(ctx, "DELETE", path, nil, 200) } // the next run sets it again
}

// replicate runs one replication to its end; the sample's value is documents per second.
func (s *session) replicate(ctx context.Context, source, target string) (sample, error) {
	c, err := s.connect(ctx, replicationLimit)
	if err != nil {
		return sample{}, err
	}
	defer c.close()
	c.keep = true
	m, err := startMeter(s.target)
	if err != nil {
		return sample{}, err
	}
	begin := time.Now()
	body := []byte(`{"source":` + source + `,"target":` + target + `}`)
	if _, err := c.do(ctx, &request{method: "POST", path: []byte("/_replicate"), body: body}, 200); err != nil {
		return sample{}, err
	}
	elapsed := time.Since(begin)
	used, err := m.stop()
	if err != nil {
		return sample{}, err
	}
	var answer struct {
		History []struct {
			Written int64 `json:"docs_written"`
			Failed  int64 `json:"doc_write_failures"`
		} `json:"history"`
	}
	if err := json.Unmarshal(c.body, &answer); err != nil {
		return sample{}, err
	}
	// Workloads before this one may have left design documents, which are replicated too.
	if h := answer.History; len(h) != 1 || h[0].Written < s.size.viewDocuments || h[0].Failed > 0 {
		return sample{}, fmt.Errorf("not all documents were replicated: %s", c.body)
	}
	written := answer.History[0].Written
	return sample{units: written, value: float64(written) / elapsed.Seconds(), used: used}, nil
}
