package documents

import (
	"strconv"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage"
)

// FileBase is what a database or an index takes at least in the sizes of files that are shown: its
// records and counters. As in CouchDB, where they are a file's first pages, the file is larger than
// the live data even if there is none.
const FileBase = 4096

// AppendInfo appends what GET /db shows, in CouchDB's order; where replaced revisions are kept for
// a time, how many there are, too.
func AppendInfo(b []byte, i *storage.Info) []byte {
	b = AppendStart(append(b, `{"instance_start_time":`...), i)
	b = ejson.AppendString(append(b, `,"db_name":`...), i.Name)
	b = AppendSeq(append(b, `,"purge_seq":`...), i.PurgeSeq)
	b = AppendUpdateSeq(append(b, `,"update_seq":`...), i.UpdateSeq)
	b = strconv.AppendInt(append(b, `,"sizes":{"file":`...), FileBase+i.SizeFile, 10)
	b = strconv.AppendInt(append(b, `,"external":`...), i.SizeExternal, 10)
	b = strconv.AppendInt(append(b, `,"active":`...), i.SizeActive, 10)
	b = append(b, `},"props":{`...)
	if i.Partitioned {
		b = append(b, `"partitioned":true`...)
	}
	if i.Access {
		if i.Partitioned {
			b = append(b, ',')
		}
		b = append(b, `"access":true`...)
	}
	b = strconv.AppendInt(append(b, `},"doc_del_count":`...), i.DocDelCount, 10)
	b = strconv.AppendInt(append(b, `,"doc_count":`...), i.DocCount, 10)
	b = strconv.AppendBool(append(b, `,"disk_format_version":8,"compact_running":`...), i.CompactRunning)
	b = strconv.AppendInt(append(b, `,"cluster":{"q":`...), int64(i.Q), 10)
	b = append(b, `,"n":1,"w":1,"r":1}`...)
	if i.History.Seconds > 0 {
		b = strconv.AppendInt(append(b, `,"settee":{"history_bytes":`...), i.HistorySize, 10)
		b = strconv.AppendInt(append(b, `,"history_revisions":`...), i.HistoryRows, 10)
		b = append(b, '}')
	}
	return append(b, '}')
}

// AppendStart appends the time of creation, which is a string.
func AppendStart(b []byte, i *storage.Info) []byte {
	return append(strconv.AppendInt(append(b, '"'), i.Created.Unix(), 10), '"')
}

// AppendSeq appends a sequence as a JSON string.
func AppendSeq(b []byte, s storage.UpdateSeq) []byte {
	return append(compat.AppendSeq(append(b, '"'), s.N, s.Seq), '"')
}

// AppendUpdateSeq appends the `update_seq` of a database or of a view; see compat.AppendUpdateSeq.
func AppendUpdateSeq(b []byte, s storage.UpdateSeq) []byte {
	return append(compat.AppendUpdateSeq(append(b, '"'), s.N, s.Seq), '"')
}
