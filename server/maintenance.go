package server

import (
	"fmt"
	"hash/crc32"
	"net/http"
	"strconv"
	"strings"

	"github.com/settee-db/settee/compat"
)

func postCompact(c *Call) error {
	if err := c.RequireJSON(); err != nil {
		return err
	}
	if err := c.db.StartCompact(c.Context()); err != nil {
		return err
	}
	return c.OK(http.StatusAccepted)
}

func postSyncShards(c *Call) error {
	if err := c.RequireDB(); err != nil {
		return err
	}
	return c.OK(http.StatusAccepted)
}

// syncShardsPath refuses every method, POST too (mem3_httpd:handle_sync_req).
func syncShardsPath(*Call) error { return compat.MethodNotAllowed("POST") }

func postEnsureFullCommit(c *Call) error {
	if err := c.RequireJSON(); err != nil {
		return err
	}
	info, err := c.db.Info(c.Context())
	if err != nil {
		return err
	}
	b := strconv.AppendInt([]byte(`{"ok":true,"instance_start_time":"`), info.Created.Unix(), 10)
	return c.JSON(http.StatusCreated, append(b, `"}`...))
}

// tempView is gone, whatever the method.
func tempView(*Call) error {
	return compat.NewError(compat.KindGone, "Temporary views are not supported in CouchDB")
}

// shardRange is the i-th of q hash ranges: equal parts, the last one takes the rest.
func shardRange(i, q int) (first, last uint32) {
	width := uint64(1<<32) / uint64(q)
	first = uint32(uint64(i) * width)
	last = uint32(uint64(i+1)*width - 1)
	if i == q-1 {
		last = 0xffffffff
	}
	return first, last
}

func getShards(c *Call) error {
	info, err := c.db.Info(c.Context())
	if err != nil {
		return err
	}
	b := append([]byte(nil), `{"shards":{`...)
	for i := range info.Q {
		if i > 0 {
			b = append(b, ',')
		}
		first, last := shardRange(i, info.Q)
		b = fmt.Appendf(b, `"%08x-%08x":["%s"]`, first, last, c.srv.node)
	}
	return c.JSON(http.StatusOK, append(b, "}}"...))
}

// getShard names the range that holds an id: by CRC-32 of the id, in partitioned databases of the partition's name.
func getShard(c *Call) error {
	info, err := c.db.Info(c.Context())
	if err != nil {
		return err
	}
	key := c.Segment(2)
	if info.Partitioned && !strings.HasPrefix(key, "_") {
		if key, _, err = compat.SplitPartition(key); err != nil {
			return err
		}
	}
	sum := crc32.ChecksumIEEE([]byte(key))
	i := min(int(uint64(sum)/(uint64(1<<32)/uint64(info.Q))), info.Q-1)
	first, last := shardRange(i, info.Q)
	return c.JSON(http.StatusOK, fmt.Appendf(nil, `{"range":"%08x-%08x","nodes":["%s"]}`, first, last, c.srv.node))
}

func localIncomplete(*Call) error {
	return compat.NewError(compat.KindBadRequest, "Invalid _local document id.")
}

func localAttachment(*Call) error {
	return compat.NewError(compat.KindBadRequest, "_local documents do not accept attachments.")
}
