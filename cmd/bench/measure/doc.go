// Package measure compares the speed, memory and disk use of two servers that speak CouchDB's
// protocol, over plain HTTP.
//
// Each workload runs on both servers in turn (A B A B …). Its first round warms up and is not
// counted; of the others the report gives the median of each server, and the ratio with the spread
// over the pairs of neighbouring rounds.
//
// Map:
//
//   - target.go: a server: address, credentials, process, data directory; session.go: what a run
//     knows about one
//   - conn.go, response.go: an HTTP/1.1 client over kept-alive connections that hardly allocates
//   - documents.go: the documents, the same for every run and server
//   - load.go: connections that send one request after the other for a given time
//   - workload.go: the list of workloads; documentload.go, listload.go, attachmentload.go, viewload.go, viewquery.go,
//     findload.go, aggregateload.go, searchload.go, feedload.go, diskload.go, replicationload.go, eventload.go,
//     timerload.go, accessload.go: they
//   - eventfunction.go: an event function of a server; follower.go: a program that follows a feed, for servers without;
//     nodefollower.go, nodefollower.js: the same for Node
//   - run.go: rounds and pairs; result.go, report.go: what they have shown, the table and the JSON
//   - histogram.go, stats.go: percentiles, medians, ratios
//   - soak.go: a mixed load on one server for a long time; soakload.go: what it asks;
//     soakreport.go: what it prints
//   - meter.go: what a server and this process use during a round; machine.go: where that was
//   - process.go, disk.go: CPU time, memory and disk of a server process, from /proc and the file
//     system
//   - limits.go, bare.go: how near one server comes to what net/http and the store can do at all
//
// Invariants:
//  1. Nothing of the server's packages is imported; what is not HTTP comes in as a function or a
//     command.
//  2. Both servers get the same requests in the same order: documents, ids and choices follow from the round's number,
//     never from the time or the server. Only how many are sent depends on the speed.
//  3. An answer with another status than the expected one, or with fewer rows than the database has, ends the run: a
//     server is not fast by failing.
//  4. A ratio above 1 always means that A is better, also where less is better.
//  5. Only databases and users whose names begin with the run's own prefix are touched, and all of them are
//     deleted at the end.
package measure
