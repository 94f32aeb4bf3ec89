package measure

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"time"
)

const (
	megabyte         = 1 << 20
	attachmentKind   = "application/octet-stream" // nothing that CouchDB compresses
	smallConns       = 4
	storedSmall      = 64 // attachments that are read again and again
	storedLarge      = 2
	attachmentSuffix = "/data"
)

// newBlob makes bytes that cannot be compressed: always the same ones.
func newBlob(size int) []byte {
	rnd := rand.New(rand.NewPCG(3, 4))
	b := make([]byte, 0, size+8)
	for len(b) < size {
		b = binary.LittleEndian.AppendUint64(b, rnd.Uint64())
	}
	return b[:size]
}

func attachmentWorkloads(size sizes) []*workload {
	small := fmt.Sprintf("%dk", size.smallAttachment>>10)
	large := fmt.Sprintf("%dm", size.largeAttachment>>20)
	return []*workload{
		putAttachments("att-put-"+small, size.smallAttachment, smallConns),
		getAttachments("att-get-"+small, size.smallAttachment, smallConns, storedSmall),
		putAttachments("att-put-"+large, size.largeAttachment, 1),
		getAttachments("att-get-"+large, size.largeAttachment, 1, storedLarge),
	}
}

// piece is the n-th attachment of a size: overlapping parts of the blob, so that no two are equal.
func (s *session) piece(n int64, size int) []byte {
	room := int64(len(s.blob) - size + 1)
	offset := n * 4099 % room
	return s.blob[offset : offset+int64(size)]
}

// putAttachments measures uploads of one size. Workers have ranges of ids of their own, so that no
// upload replaces another one.
func putAttachments(name string, size, conns int) *workload {
	return &workload{
		name: name, unit: "MB/s", databases: []string{name},
		about:   fmt.Sprintf("PUT of attachments of %d KB to new documents, %d connection(s)", size>>10, conns),
		prepare: func(context.Context, *session) error { return nil },
		round: func(ctx context.Context, s *session, p plan) (sample, error) {
			// A new database each time: the data of all rounds would fill the disk.
			if err := s.drop(ctx, name); err != nil {
				return sample{}, err
			}
			if err := s.create(ctx, name); err != nil {
				return sample{}, err
			}
			most := max(1, s.size.attachmentBytes/int64(size)/int64(conns))
			out, err := s.load(
				ctx,
				demand{conns: conns, buffer: joinBelow, maxSteps: most, newStep: func(worker int) step {
					req := &request{method: "PUT", kind: attachmentKind}
					base := s.db(name) + "/"
					n := int64(worker) * most
					return func(c *conn) (int64, error) {
						req.path = append(appendID(append(req.path[:0], base...), n), attachmentSuffix...)
						req.body = s.piece(n, size)
						n++
						_, err := c.do(ctx, req, 201)
						return int64(size), err
					}
				}},
				p.duration,
			)
			return out.inMegabytes(), err
		},
	}
}

// getAttachments measures downloads of random attachments among stored ones. The seed is the round
// and the worker, so that both servers are asked for the same ones.
func getAttachments(name string, size, conns int, stored int64) *workload {
	return &workload{
		name: name, unit: "MB/s", databases: []string{name},
		about: fmt.Sprintf("GET of attachments of %d KB, %d connection(s)", size>>10, conns),
		prepare: func(ctx context.Context, s *session) error {
			if err := s.create(ctx, name); err != nil {
				return err
			}
			path := s.db(name) + "/"
			_, err := s.load(ctx, demand{conns: 1, buffer: joinBelow, maxSteps: stored, newStep: func(int) step {
				n := int64(0)
				return func(c *conn) (int64, error) {
					at := append(appendID([]byte(path), n), attachmentSuffix...)
					body := s.piece(n, size)
					n++
					_, err := c.do(ctx, &request{method: "PUT", path: at, body: body, kind: attachmentKind}, 201)
					return 1, err
				}
			}}, time.Hour)
			return err
		},
		round: func(ctx context.Context, s *session, p plan) (sample, error) {
			out, err := s.load(ctx, demand{conns: conns, buffer: bufferLarge, newStep: func(worker int) step {
				rnd := rand.New(rand.NewPCG(uint64(p.round), uint64(worker)))
				req := &request{method: "GET"}
				base := s.db(name) + "/"
				return func(c *conn) (int64, error) {
					req.path = append(appendID(append(req.path[:0], base...), rnd.Int64N(stored)), attachmentSuffix...)
					resp, err := c.do(ctx, req, 200)
					if err == nil && resp.length != int64(size) {
						err = fmt.Errorf("an attachment has %d bytes instead of %d", resp.length, size)
					}
					return resp.length, err
				}
			}}, p.duration)
			return out.inMegabytes(), err
		},
	}
}

// inMegabytes turns a sample that counted bytes into one of MB/s, and of CPU time for each MB.
func (s sample) inMegabytes() sample {
	s.value /= megabyte
	s.units /= megabyte
	return s
}
