// make fills a running CouchDB without databases and writes its files, with what the server answers
// of them, to an archive that the tests read:
//
//	go run make.go http://admin:password@127.0.0.1:5984 DATA_DIR couchdb-3.5.0.tar.gz
//	go run make.go http://admin:password@127.0.0.1:5984 DATA_DIR checkpoints-3.5.0.tar.gz
package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"log"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

var (
	server string
	random = rand.New(rand.NewPCG(1, 2))
)

func main() {
	log.SetFlags(0)
	server = os.Args[1]
	var answers bytes.Buffer
	if strings.HasPrefix(filepath.Base(os.Args[3]), "checkpoints") {
		recordCheckpoints(&answers, fillCheckpoints())
	} else {
		for _, name := range fill() {
			record(&answers, name)
		}
	}
	time.Sleep(2 * time.Second) // what was written is in the files
	if err := pack(os.Args[3], os.Args[2], answers.Bytes()); err != nil {
		log.Fatal(err)
	}
}

func request(method, path string, body any) []byte {
	var b []byte
	switch v := body.(type) {
	case nil:
	case []byte:
		b = v
	case string:
		b = []byte(v)
	default:
		b, _ = json.Marshal(body)
	}
	r, err := http.NewRequest(method, server+path, bytes.NewReader(b))
	if err != nil {
		log.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	w, err := http.DefaultClient.Do(r)
	if err != nil {
		log.Fatal(err)
	}
	defer w.Body.Close()
	answer, err := io.ReadAll(w.Body)
	if err != nil || w.StatusCode >= 400 && w.StatusCode != 412 {
		log.Fatal(method, " ", path, " ", w.Status, " ", string(answer), err)
	}
	return answer
}

func set(section, key, value string) {
	request("PUT", "/_node/_local/_config/"+section+"/"+key, fmt.Sprintf("%q", value))
}

func pick(texts ...string) string { return texts[random.IntN(len(texts))] }

// value is JSON of all that a term can be.
func value(depth int) string {
	switch k := random.IntN(12); {
	case k == 0:
		return pick("0", "1", "-1", "255", "256", "65535", "2147483648", "-2147483649", "9007199254740992",
			"9223372036854775808", "18446744073709551616", "1"+strings.Repeat("0", 40), "-1"+strings.Repeat("0", 300))
	case k == 1:
		return pick("0.5", "-0.5", "1e300", "1.0e-300", "123456.789", "1e21", "5e-324", "-0.0", "1.0")
	case k == 2:
		return pick("true", "false", "null")
	case k == 3: // a list of small integers is stored as a string
		var list []string
		for range random.IntN(6) {
			list = append(list, fmt.Sprint(random.IntN(256)))
		}
		return "[" + strings.Join(list, ",") + "]"
	case k == 4:
		return pick(`""`, `"a"`, `"ü€😀"`, `"\u0000\u001f\"\\/"`, `"true"`, `"`+strings.Repeat("x", 300)+`"`)
	case k <= 6 && depth < 4:
		var list []string
		for i := range random.IntN(5) {
			list = append(list, fmt.Sprintf(`%q:%s`, pick("a", "ü", "", "x y")+fmt.Sprint(i), value(depth+1)))
		}
		return "{" + strings.Join(list, ",") + "}"
	case k == 7 && depth < 4:
		return "[" + value(depth+1) + "," + value(depth+1) + ",{}]"
	case k == 8:
		return pick("{}", "[]")
	}
	return pick(`"text"`, "1", "3.25")
}

func bulk(path string, docs []string, more string) {
	request("POST", path+"/_bulk_docs", `{"docs":[`+strings.Join(docs, ",")+`]`+more+`}`)
}

func hash() string { return fmt.Sprintf("%016x%016x", random.Uint64(), random.Uint64()) }

func fill() []string {
	names := []string{"_users", "_replicator"}
	request("PUT", "/_users", nil)
	request("PUT", "/_users/org.couchdb.user:bob", `{"name":"bob","password":"x","roles":["r"],"type":"user"}`)
	for n, form := range [...]struct{ compression, xxhash string }{{"snappy", "true"}, {"none", "false"}, {"deflate_6", "true"}} {
		set("couchdb", "file_compression", form.compression)
		set("couchdb", "write_xxhash_checksums", form.xxhash)
		name := "from_" + strings.Trim(form.compression, "_6")
		names = append(names, name)
		fillOne("/"+name, n)
	}
	request("PUT", "/parts?partitioned=true&q=2", nil)
	var docs []string
	for i := range 60 {
		docs = append(docs, fmt.Sprintf(`{"_id":"p%d:d%d","v":%s}`, i%5, i, value(0)))
	}
	bulk("/parts", docs, "")
	request("PUT", "/a%2Fb%2Bc", nil)
	bulk("/a%2Fb%2Bc", []string{`{"_id":"x","v":1}`}, "")
	request("PUT", "/split?q=1", nil)
	bulk("/split", docs, "")
	request("POST", "/_reshard/jobs", `{"type":"split","db":"split"}`)
	for !strings.Contains(string(request("GET", "/_reshard/jobs", nil)), `"completed"`) {
		time.Sleep(time.Second)
	}
	return append(names, "parts", "a/b+c", "split")
}

// fillOne makes a database with all that documents have.
func fillOne(db string, n int) {
	request("PUT", fmt.Sprintf("%s?q=%d", db, n+1), nil)
	var docs []string
	for i := range 80 {
		docs = append(docs, fmt.Sprintf(`{"_id":"%s%03d","v":%s,"w":%s}`, pick("a", "é", "z "), i, value(0), value(0)))
	}
	bulk(db, docs, "")
	var all struct {
		Rows []struct {
			ID    string
			Value struct{ Rev string }
		}
	}
	_ = json.Unmarshal(request("GET", db+"/_all_docs", nil), &all)
	docs = nil
	for i, row := range all.Rows {
		more := ""
		if i%4 == 0 {
			more = `,"_deleted":true`
		}
		if i%8 != 0 {
			more += `,"edit":` + value(0)
		}
		if i%3 > 0 {
			docs = append(docs, fmt.Sprintf(`{"_id":%q,"_rev":%q%s}`, row.ID, row.Value.Rev, more))
		}
	}
	bulk(db, docs, "")
	docs = []string{
		`{"_id":"odd","_rev":"2-notmd5","x":1}`,
		`{"_id":"deep","_rev":"100-abc","_revisions":{"start":100,"ids":["abc","def"]},"x":1}`,
	}
	for i := range 20 {
		root := hash()
		for range 1 + random.IntN(3) {
			ids := []string{}
			for range 1 + random.IntN(6) {
				ids = append(ids, `"`+hash()+`"`)
			}
			ids = append(ids, `"`+root+`"`)
			more := pick("", "", `,"_deleted":true`)
			docs = append(docs, fmt.Sprintf(`{"_id":"conflict%d","_rev":"%d-%s","_revisions":{"start":%d,"ids":[%s]},"b":%s%s}`,
				i, len(ids), strings.Trim(ids[0], `"`), len(ids), strings.Join(ids, ","), value(0), more))
		}
	}
	bulk(db, docs, `,"new_edits":false`)
	if n == 1 {
		request("PUT", db+"/_revs_limit", "5")
	}
	var made struct{ Rev string }
	for i := range 12 {
		_ = json.Unmarshal(request("PUT", db+"/line", line(i, made.Rev)), &made)
	}
	picture := make([]byte, 20_000)
	for i := range picture {
		picture[i] = byte(random.IntN(256))
	}
	made.Rev = ""
	for _, att := range [...]struct {
		name, kind string
		data       []byte
	}{
		{"text.txt", "text/plain", bytes.Repeat([]byte("hello "), 5000)}, {"empty", "application/octet-stream", nil},
		{"picture.png", "image/png", picture}, {"ü.json", "application/json", []byte(`{"a":1}`)},
	} {
		r, _ := http.NewRequest("PUT", server+db+"/att/"+url.PathEscape(att.name)+"?rev="+made.Rev, bytes.NewReader(att.data))
		if made.Rev == "" {
			r, _ = http.NewRequest("PUT", server+db+"/att/"+url.PathEscape(att.name), bytes.NewReader(att.data))
		}
		r.Header.Set("Content-Type", att.kind)
		w, err := http.DefaultClient.Do(r)
		if err != nil || w.StatusCode != http.StatusCreated {
			log.Fatal("attachment ", err, w)
		}
		_ = json.NewDecoder(w.Body).Decode(&made)
		w.Body.Close()
	}
	for i := range 5 {
		request("PUT", fmt.Sprintf("%s/_local/l%d", db, i), fmt.Sprintf(`{"v":%s}`, value(0)))
	}
	request("PUT", db+"/_local/l1", `{"_rev":"0-1","again":1}`)
	for _, row := range all.Rows[40:44] {
		var doc struct {
			Rev string `json:"_rev"`
		}
		answer, _ := http.Get(server + db + "/" + url.PathEscape(row.ID))
		_ = json.NewDecoder(answer.Body).Decode(&doc)
		answer.Body.Close()
		if doc.Rev != "" {
			request("POST", db+"/_purge", map[string][]string{row.ID: {doc.Rev}})
		}
	}
	request("PUT", db+"/_design/v", `{"views":{"x":{"map":"function (doc) { emit(doc.v); }"}}}`)
	if n == 2 {
		request("PUT", db+"/_security", `{"admins":{"names":["bob"],"roles":[]},"members":{"names":[],"roles":["r"]},"extra":[1,2,3]}`)
	}
	if n == 0 {
		request("POST", db+"/_compact", "{}")
		time.Sleep(3 * time.Second)
		bulk(db, []string{`{"_id":"after compaction","v":` + value(0) + `}`}, "")
	}
}

// record writes what the server has of a database: its settings, then a line for each leaf, and
// each local document.
func record(w io.Writer, name string) {
	db := "/" + url.QueryEscape(name)
	line := func(kind string, text []byte) {
		var plain bytes.Buffer
		_ = json.Compact(&plain, text)
		fmt.Fprintf(w, "{\"db\":%q,%q:%s}\n", name, kind, plain.Bytes())
	}
	line("security", request("GET", db+"/_security", nil))
	line("revs_limit", request("GET", db+"/_revs_limit", nil))
	line("info", request("GET", db, nil))
	var changes struct {
		Results []struct {
			ID      string
			Changes []struct{ Rev string }
		}
	}
	_ = json.Unmarshal(request("GET", db+"/_changes?style=all_docs", nil), &changes)
	for _, row := range changes.Results {
		for _, leaf := range row.Changes {
			path := fmt.Sprintf("%s/%s?revs=true&attachments=true&rev=%s", db, strings.Replace(url.PathEscape(row.ID), "_design%2F", "_design/", 1), leaf.Rev)
			line("leaf", request("GET", path, nil))
		}
	}
	var locals struct{ Rows []struct{ ID string } }
	_ = json.Unmarshal(request("GET", db+"/_local_docs", nil), &locals)
	for _, row := range locals.Rows {
		line("local", request("GET", db+"/"+row.ID, nil))
	}
}

// pack writes an archive of the databases' files and the answers.
func pack(to, dir string, answers []byte) error {
	var out bytes.Buffer
	z, _ := gzip.NewWriterLevel(&out, gzip.BestCompression)
	t := tar.NewWriter(z)
	add := func(name string, data []byte) error {
		err := t.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(data))})
		if err == nil {
			_, err = t.Write(data)
		}
		return err
	}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, path)
		left := strings.HasPrefix(rel, ".") && rel != "." || strings.Contains(rel, "_global_changes")
		switch {
		case err != nil:
			return err
		case e.IsDir() && left:
			return filepath.SkipDir
		case e.IsDir() || left:
			return nil
		}
		data, err := os.ReadFile(path)
		if err == nil {
			err = add("data/"+filepath.ToSlash(rel), data)
		}
		return err
	})
	if err == nil {
		err = add("answers.jsonl", answers)
	}
	if err == nil {
		err = t.Close()
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		return err
	}
	return os.WriteFile(to, out.Bytes(), 0o644)
}

// line is the next revision of a document.
func line(i int, rev string) map[string]any {
	if rev == "" {
		return map[string]any{"i": i}
	}
	return map[string]any{"i": i, "_rev": rev}
}

// fillCheckpoints makes a database that is written to, replicated from and followed in turns, and
// gives the sequences that replicators and clients remember, by the local document that has them.
func fillCheckpoints() map[string]string {
	const rounds = 8
	request("PUT", "/marks?q=3", nil)
	request("PUT", "/pulled?q=1", nil)
	seqs := map[string]string{}
	for round := range rounds {
		var docs []string
		for i := round * 20; i < round*20+20; i++ {
			docs = append(docs, fmt.Sprintf(`{"_id":"m%d","_rev":"1-%032x","n":%d}`, i, i, i))
			if earlier := i * 7 % (round*20 + 1); i%3 == 0 { // a conflict, an edit, or a deletion of an earlier one
				docs = append(docs, fmt.Sprintf(`{"_id":"m%d","_rev":"2-%032x","n":%d,"_deleted":%t,"_revisions":{"start":2,"ids":["%032x","%032x"]}}`,
					earlier, i, i, i%9 == 0, i, earlier))
			}
		}
		bulk("/marks", docs, `,"new_edits":false`)
		var info struct {
			Seq string `json:"update_seq"`
		}
		_ = json.Unmarshal(request("GET", "/marks", nil), &info)
		id := fmt.Sprintf("_local/pouch%d", round) // as PouchDB 9 writes it
		session := hash()
		request("PUT", "/marks/"+id, fmt.Sprintf(`{"session_id":%q,"last_seq":%q,"replicator":"pouchdb","version":1,"history":[{"last_seq":%q,"session_id":%q}]}`,
			session, info.Seq, info.Seq, session))
		seqs[id] = info.Seq
		// A replication of its own, and one that goes on from round to round.
		request("POST", "/_replicate", fmt.Sprintf(`{"source":"%s/marks","target":"%s/pulled","selector":{"n":{"$gt":%d}}}`, server, server, -round-2))
		request("POST", "/_replicate", fmt.Sprintf(`{"source":"%s/marks","target":"%s/pulled"}`, server, server))
		if round == rounds/2 {
			request("POST", "/marks/_compact", nil)
			time.Sleep(2 * time.Second)
		}
	}
	request("PUT", "/marks/_local/pushed", `{"session_id":"s","last_seq":57,"replicator":"pouchdb","version":1,"history":[{"last_seq":57,"session_id":"s"}]}`)
	bulk("/marks", []string{`{"_id":"last","_rev":"1-abc"}`}, `,"new_edits":false`)
	var locals struct {
		Rows []struct {
			ID  string
			Doc struct {
				Seq string `json:"source_last_seq"`
			}
		}
	}
	_ = json.Unmarshal(request("GET", "/marks/_local_docs?include_docs=true", nil), &locals)
	for _, row := range locals.Rows {
		if row.Doc.Seq != "" {
			seqs[row.ID] = row.Doc.Seq
		}
	}
	return seqs
}

// recordCheckpoints writes down what comes behind each sequence, in no order: a line for each.
func recordCheckpoints(w io.Writer, seqs map[string]string) {
	for id, seq := range seqs {
		fmt.Fprintf(w, `{"db":"marks","checkpoint":%q,"changes":%s}`+"\n", id,
			bytes.TrimSpace(request("GET", "/marks/_changes?style=all_docs&since="+url.QueryEscape(seq), nil)))
	}
}
