// Package journal stores fettle's data on a host, below the state directory: the write-ahead log of
// every run, the objects that before-images and lists refer to, and the state after each run.
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
// Numbers are little endian. length counts the payload and stays below 2^24; crc32c covers seq and
// payload; seq starts at 1 and has no gap. The first record is Begin. A payload is one JSON object
// without a zero byte, so a frame never resembles a part of another frame.
//
// Recovery. A journal ends before the first record with a wrong length, checksum or seq: a crash
// damages only unsynced data. The first record after each sync contains the seq up to which all
// records were durable by then (Record.Synced). If a readable record after the damage declares that
// place as durable, a crash is not the cause: the error is a *CorruptError, and the journal is
// never extended. A journal without a readable Begin never had an effect. Before Resume returns the
// journal, it cuts the torn tail, replaces the file with a new copy of the valid part, and syncs
// it. The copy is needed because the kernel may mark pages as clean although it could not write them.
//
// A run ends with its journal: the state after the run, in Stated records, and Commit or Undone.
// The state file and the pointer are written next, and the next run begins after that. Each of them
// therefore proves that the run has ended. A journal without an end is then damaged, not cut short
// by a crash. Lost state files and a lost pointer are restored from the journals, or refused with a
// *LostError.
//
// state/*.json, current, frozen and armed are one line of JSON followed by a line "crc32c " with
// eight hex digits that covers it.
//
// Steps are stored as their canonical text. A state with a step that this version does not know is
// refused with a *StepError, which has the place of the step. The state is neither lost nor damaged, so
// no other copy replaces it. A newer format is refused before its steps are read.
//
// JSON cannot represent arbitrary bytes, but paths contain them. In all these files a byte that is
// not UTF-8 is written as the character U+10FF00 plus its value. Each byte of a character from
// U+10FF80 to U+10FFFF is written in the same way. Marshal and Unmarshal do this.
package journal
