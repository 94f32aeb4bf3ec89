// Package zgzip writes gzip streams byte for byte as zlib (madler, 1.2.x) writes them.
//
// CouchDB stores compressible attachments as the gzip stream zlib makes of them, and the digest,
// the ETag and the revision id of a document are computed from those stored bytes. A gzip writer
// that is merely correct gives other bytes, and with them other revision ids, so this package is a
// port of zlib's deflate: the same hash chains, the same lazy evaluation, the same block borders
// and the same Huffman trees.
//
// Map:
//   - writer.go: the gzip frame and the io.WriteCloser around a pooled compressor
//   - deflate.go: sliding window, the lazy and the greedy loop (zlib's deflate.c)
//   - match.go: the search of the hash chains (longest_match)
//   - trees.go: symbol buffer, choice of the block type, block output (zlib's trees.c)
//   - huffman.go: Huffman codes of limited length as zlib builds them
//   - tables.go: static codes, tuning of the levels
//   - reader.go: decompression
//
// Invariants:
//  1. Parameters are those of CouchDB's couch_stream: windowBits 15, memLevel 8, default strategy;
//     levels 1..9.
//  2. The bytes depend on the input and the level only, not on how the input is cut into Write
//     calls.
//  3. Memory is bounded: about 300 KB a compressor, pooled, whatever the size of the input.
//  4. Every table is computed once and read-only afterwards; Writers share nothing else but the
//     pool.
//
// The compressor is an altered version of zlib: Copyright (C) 1995-2022 Jean-loup Gailly and Mark
// Adler. This software is provided 'as-is', without any express or implied warranty. In no event
// will the authors be held liable for any damages arising from the use of this software. Permission
// is granted to anyone to use this software for any purpose, including commercial applications, and
// to alter it and redistribute it freely, subject to the following restrictions: 1. The origin of
// this software must not be misrepresented; you must not claim that you wrote the original
// software. 2. Altered source versions must be plainly marked as such, and must not be
// misrepresented as being the original software. 3. This notice may not be removed or altered from
// any source distribution.
package zgzip
