//go:build !linux || portable

package image

import "errors"

// mapping reports whether memories can be mappings of their image.
const mapping = false

func scanning() bool { return false }

// file is unused on this system.
type file struct{}

func newFile([]byte, *file) (file, uint64, error) { return file{}, 0, errors.ErrUnsupported }

func (*file) again() (file, error) { return file{}, errors.ErrUnsupported }

func (file) read([]byte)             {}
func (file) readAt([]byte, int) bool { return false }
func (file) close()                  {}

func reserve(uint64, file) ([]byte, error) { return nil, errors.ErrUnsupported }
func giveBack([]byte) error                { return errors.ErrUnsupported }
func release([]byte)                       {}

func written([]byte, func(from, to int) bool) (bool, error) { return false, errors.ErrUnsupported }

func faults() (int64, bool) { return 0, false }
