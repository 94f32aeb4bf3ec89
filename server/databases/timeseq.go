package databases

import (
	"net/http"
	"strconv"
	"time"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/server/call"
)

// timeForm is how times are printed.
const timeForm = "2006-01-02T15:04:05Z"

// getTimeSeq answers GET /{db}/_time_seq: how many updates were made in which stretches of time
// (fabric_time_seq:histogram). There is one range of shards.
func getTimeSeq(c *call.Call) error {
	bins, err := c.DB.Feed().Times(c.Context())
	if err != nil {
		return err
	}
	b := append([]byte(`{"time_seq":{"`), shardRange(1, 0)...)
	b = append(ejson.AppendString(append(b, `":{`...), c.Env.Node), ":["...)
	for i, bin := range bins {
		if i > 0 {
			b = append(b, ',')
		}
		b = time.Unix(bin.Second, 0).UTC().AppendFormat(append(b, `["`...), timeForm)
		b = append(strconv.AppendUint(append(b, `",`...), bin.Updates, 10), ']')
	}
	return c.JSON(http.StatusOK, append(b, "]}}}"...))
}

// deleteTimeSeq answers DELETE /{db}/_time_seq.
func deleteTimeSeq(c *call.Call) error {
	if err := c.Docs.Access().NeedAdmin(c.Context()); err != nil {
		return err
	}
	if err := c.DB.Feed().ForgetTimes(c.Context()); err != nil {
		return err
	}
	return c.OK(http.StatusOK)
}
