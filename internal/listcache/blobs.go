package listcache

import (
	"encoding/binary"
	"maps"
	"slices"

	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/repo"
)

// The table of blobs is sorted by digest. Its entries have no separator:
//
//	digest size u64  inline u8  content or path in the tree   (texts with their length, u32)

// table encodes the blobs of a result. tree must be the tree of the result.
func table(tree repo.Tree, blobs map[string]kind.Blob) ([]byte, error) {
	var b []byte
	for _, digest := range slices.Sorted(maps.Keys(blobs)) {
		blob := blobs[digest]
		inline, text := byte(1), blob.Data
		if blob.Tree != nil {
			if blob.Tree != tree {
				return nil, errForeign
			}
			inline, text = 0, []byte(blob.Path)
		}
		b = appendText(b, []byte(blob.Digest))
		b = append(binary.LittleEndian.AppendUint64(b, uint64(blob.Size)), inline)
		b = appendText(b, text)
	}
	return b, nil
}

// readTable decodes the output of table; ok is false for invalid data.
func readTable(b []byte, tree repo.Tree) (blobs map[string]kind.Blob, ok bool) {
	blobs = map[string]kind.Blob{}
	for len(b) > 0 {
		digest, rest, ok := cutText(b)
		if !ok || len(rest) < 9 {
			return nil, false
		}
		blob := kind.Blob{Digest: string(digest), Size: int64(binary.LittleEndian.Uint64(rest))}
		inline := rest[8] == 1
		var text []byte
		if text, b, ok = cutText(rest[9:]); !ok {
			return nil, false
		}
		if inline {
			blob.Data = slices.Clone(text)
		} else {
			blob.Tree, blob.Path = tree, string(text)
		}
		blobs[blob.Digest] = blob
	}
	return blobs, true
}

func appendText(b, text []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(text))), text...)
}

// cutText splits a text with its length from the beginning.
func cutText(b []byte) (text, rest []byte, ok bool) {
	if len(b) < 4 || uint64(binary.LittleEndian.Uint32(b)) > uint64(len(b)-4) {
		return nil, nil, false
	}
	n := 4 + int(binary.LittleEndian.Uint32(b))
	return b[4:n], b[n:], true
}
