// SPDX-License-Identifier: Apache-2.0
//
// As much XML as the answers of STS take: an element found by its name, wherever it stands, and its
// text. Not a validating reader: whatever it does not understand is not found. Pure.
#ifndef SDSFS_REMOTE_CREDENTIALS_DOCUMENT_XML_H
#define SDSFS_REMOTE_CREDENTIALS_DOCUMENT_XML_H

#include <stdbool.h>

#include "base/bytes.h"

// What stands between "<name>" (attributes are passed over) and the next "</name>".
bool sds_xml_find(struct sds_span text, const char *name, struct sds_span *out);
// The text of an element that holds nothing else, entities replaced, spaces around it taken off:
// printable ASCII, not empty and shorter than size; else false, and out is "".
bool sds_xml_text(struct sds_span text, const char *name, char *out, size_t size);

#endif
