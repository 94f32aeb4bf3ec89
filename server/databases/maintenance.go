package databases

import (
	"fmt"
	"hash/crc32"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/storage"
)

// postCompact begins to remove replaced revisions, and answers before that is done.
func postCompact(c *call.Call) error {
	if err := c.RequireJSON(); err != nil {
		return err
	}
	if err := c.DB.StartCompact(c.Context()); err != nil {
		return err
	}
	return c.OK(http.StatusAccepted)
}

// postSyncShards answers POST /{db}/_sync_shards and has nothing to do: there is one copy of
// everything.
func postSyncShards(c *call.Call) error {
	if err := c.RequireDB(); err != nil {
		return err
	}
	return c.OK(http.StatusAccepted)
}

// syncShardsPath refuses every method, POST too (mem3_httpd:handle_sync_req).
func syncShardsPath(*call.Call) error { return compat.MethodNotAllowed("POST") }

// postEnsureFullCommit answers for replicators, which compare instance_start_time: every write was
// durable when it was answered.
func postEnsureFullCommit(c *call.Call) error {
	if err := c.RequireJSON(); err != nil {
		return err
	}
	info, err := c.DB.Info(c.Context())
	if err != nil {
		return err
	}
	b := strconv.AppendInt([]byte(`{"ok":true,"instance_start_time":"`), info.Created.Unix(), 10)
	return c.JSON(http.StatusCreated, append(b, `"}`...))
}

// tempView answers _temp_view, which CouchDB no longer has, with its error for every method.
func tempView(*call.Call) error {
	return compat.NewError(compat.KindGone, "Temporary views are not supported in CouchDB")
}

// shardRange is the i-th of the q equal ranges of hashes that a database shows as its shards,
// though it has none. The last one takes what is left.
func shardRange(q, i int) string {
	width := hashes / uint64(q)
	last := uint64(i+1)*width - 1
	if i == q-1 {
		last = hashes - 1
	}
	return fmt.Sprintf("%08x-%08x", uint64(i)*width, last)
}

// hashes is how many hashes there are.
const hashes = 1 << 32

// shards is how many ranges a database shows: one if it was made without a number, and no more than
// a request for a database may name, whatever the settings said when it was made.
func shards(info *storage.Info) int { return min(max(info.Q, 1), math.MaxUint16) }

// getShards shows the ranges that q shards would have, all of them on this node.
func getShards(c *call.Call) error {
	info, err := c.DB.Info(c.Context())
	if err != nil {
		return err
	}
	b := append([]byte(nil), `{"shards":{`...)
	q := shards(info)
	for i := range q {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `"`+shardRange(q, i)+`":["`+c.Env.Node+`"]`...)
	}
	return c.JSON(http.StatusOK, append(b, "}}"...))
}

// getShard names the range that holds an id: by CRC-32 of the id, in partitioned databases of the
// partition's name.
func getShard(c *call.Call) error {
	info, err := c.DB.Info(c.Context())
	if err != nil {
		return err
	}
	key := c.Segment(2)
	if info.Partitioned && !strings.HasPrefix(key, "_") {
		if key, _, err = compat.SplitPartition(key); err != nil {
			return err
		}
	}
	q := shards(info)
	i := min(int(uint64(crc32.ChecksumIEEE([]byte(key)))/(hashes/uint64(q))), q-1)
	return c.JSON(http.StatusOK, []byte(`{"range":"`+shardRange(q, i)+`","nodes":["`+c.Env.Node+`"]}`))
}

func localIncomplete(*call.Call) error {
	return compat.NewError(compat.KindBadRequest, "Invalid _local document id.")
}

func localAttachment(*call.Call) error {
	return compat.NewError(compat.KindBadRequest, "_local documents do not accept attachments.")
}
