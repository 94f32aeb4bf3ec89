package databases

import (
	"fmt"
	"hash/crc32"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/server/call"
)

func postCompact(c *call.Call) error {
	if err := c.RequireJSON(); err != nil {
		return err
	}
	if err := c.DB.StartCompact(c.Context()); err != nil {
		return err
	}
	return c.OK(http.StatusAccepted)
}

func postSyncShards(c *call.Call) error {
	if err := c.RequireDB(); err != nil {
		return err
	}
	return c.OK(http.StatusAccepted)
}

// syncShardsPath refuses every method, POST too (mem3_httpd:handle_sync_req).
func syncShardsPath(*call.Call) error { return compat.MethodNotAllowed("POST") }

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

// tempView is gone, whatever the method.
func tempView(*call.Call) error {
	return compat.NewError(compat.KindGone, "Temporary views are not supported in CouchDB")
}

// ShardRange is the i-th of the ranges that begin at starts.
func ShardRange(starts []uint32, i int) string {
	last := uint32(math.MaxUint32)
	if i+1 < len(starts) {
		last = starts[i+1] - 1
	}
	return fmt.Sprintf("%08x-%08x", starts[i], last)
}

func getShards(c *call.Call) error {
	info, err := c.DB.Info(c.Context())
	if err != nil {
		return err
	}
	b := append([]byte(nil), `{"shards":{`...)
	starts := info.ShardStarts()
	for i := range starts {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `"`+ShardRange(starts, i)+`":["`+c.Env.Node+`"]`...)
	}
	return c.JSON(http.StatusOK, append(b, "}}"...))
}

// getShard names the range that holds an id: by CRC-32 of the id, in partitioned databases of the partition's name.
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
	starts := info.ShardStarts()
	i, found := slices.BinarySearch(starts, crc32.ChecksumIEEE([]byte(key)))
	if !found {
		i--
	}
	return c.JSON(http.StatusOK, []byte(`{"range":"`+ShardRange(starts, i)+`","nodes":["`+c.Env.Node+`"]}`))
}

func localIncomplete(*call.Call) error {
	return compat.NewError(compat.KindBadRequest, "Invalid _local document id.")
}

func localAttachment(*call.Call) error {
	return compat.NewError(compat.KindBadRequest, "_local documents do not accept attachments.")
}
