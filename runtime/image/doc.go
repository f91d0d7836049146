// Package image provides linear memories that begin as a copy of an image and can be reset to it in microseconds:
//
//	image ── Memory ──▶ memory ── the guest writes ──▶ Restore ──▶ memory, equal to the image
//
// There are three ways to reset, which differ only in speed:
//
//   - [Scan]: the memory is a private mapping of the image, over a reservation of its limit. The kernel copies a page
//     on the guest's first write to it. Restore asks the kernel for these pages (PAGEMAP_SCAN, Linux 6.7 or newer) and
//     copies the image over them. The pages stay resident, since page faults would cost far more than copying. If the
//     process had no page fault since the last scan, the set of pages is unchanged and the scan is skipped, since the
//     kernel would have to visit every page.
//   - [Map]: the same mapping. Restore discards the copied pages, which reveals the image again.
//   - [Copy]: an ordinary slice. Restore copies the whole image. It works everywhere.
//
// A memory with an empty image is initially zero. The images of a [Family] hold the pages that they have in common once.
package image
