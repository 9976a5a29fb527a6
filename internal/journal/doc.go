// Package journal is what fettle keeps on a host, below the state directory:
// the write-ahead log of every run, the objects that before-images and lists
// refer to, and the state that each run left.
//
//	s, err := journal.Open(fs)                // fs: a host.FS rooted at the state directory
//	lock, err := s.Lock("fettle apply, pid 7")
//	digest, err := s.PutBytes(content)        // objects first,
//	err = s.SyncObjects()                     // durable,
//	j, err := s.Begin(header)                 // then what refers to them
//	err = j.Append(record)
//	err = j.Sync()
//
// The layout, directories 0700 and files 0600:
//
//	format            "1\n"; a directory of a newer format is refused
//	lock              who holds it
//	journal/000007.wal
//	objects/ab/…      content, named by the other 62 hex digits of its SHA-256
//	state/000007.json what was applied after run 7: a copy of what its journal has
//	current           the newest run that has ended; 0 before the first
//	commands/000003.json a command that was run besides the runs, and how it ended
//	frozen, armed     settings that outlive a restart
//	ballast           room for undo on a full disk
//
// A journal is the line "FETTLEWAL1\n" and then records without a gap:
//
//	 0        4        8                16        16+length
//	+--------+--------+----------------+---------------+
//	| length | crc32c |      seq       | payload: JSON |
//	+--------+--------+----------------+---------------+
//
// Numbers are little endian. length counts the payload and stays below 2^24;
// crc32c covers seq and payload; seq starts at 1 and has no gap. The first
// record is Begin. A payload is one JSON object and holds no zero byte, so a
// frame never looks like a part of another one.
//
// Recovery. A reader takes records until the first whose length, checksum or
// seq is wrong, and that is where the journal ends: a crash tears only what was
// not synced. The first record after each sync says up to which seq all was
// durable by then (Record.Synced). When a readable record beyond the bad place
// claims the bad place as durable, the damage is no crash's: the error is a
// *CorruptError, and nothing is appended to such a journal any more. A journal
// without a readable Begin never had an effect. Resume cuts the torn tail,
// writes the good part anew in place (pages whose write-back failed may look
// clean) and syncs, before it hands the journal out.
//
// A run ends with its journal: the state that it left, in Stated records, and Commit
// or Undone. The state file and the pointer follow, and the next run begins after
// that. So each of them shows that the run has ended; a journal without an end is then
// damaged, and not one that a crash cut short. What is lost of the state files and the
// pointer is made again from the journals, or refused with a *LostError.
//
// state/*.json, current, frozen and armed are one line of JSON followed by a
// line "crc32c " with eight hex digits that covers it.
//
// JSON has no way to hold arbitrary bytes, but paths do. In all these files a
// byte that is not UTF-8 is written as the character U+10FF00 plus its value,
// and so is each byte of a character that is itself from U+10FF80 to U+10FFFF.
// Marshal and Unmarshal do this.
package journal
