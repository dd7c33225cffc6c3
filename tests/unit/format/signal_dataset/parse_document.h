// SPDX-License-Identifier: Apache-2.0
//
// The six parsers of control documents under one signature, for tests that only ask for the
// verdict.
#ifndef PARSE_DOCUMENT_H
#define PARSE_DOCUMENT_H

#include "format/signal_dataset/documents.h"

enum kind { ROOT, SNAPSHOT, MANIFEST, CATALOG, REVISION, SET, KINDS };

static enum sds_kind parse_document(enum kind kind, struct sds_span text, struct sds_err *err) {
    union {
        struct sds_root_doc root;
        struct sds_snapshot_doc snapshot;
        struct sds_manifest_doc manifest;
        struct sds_catalog_doc catalog;
        struct sds_revision_doc revision;
        struct sds_set_doc set;
    } doc = {0};
    enum sds_kind result = SDS_ERR_INTERNAL;
    switch (kind) {
    case ROOT:
        result = sds_root_parse(text, &doc.root, err);
        sds_root_doc_fini(&doc.root);
        break;
    case SNAPSHOT:
        result = sds_snapshot_parse(text, &doc.snapshot, err);
        sds_snapshot_doc_fini(&doc.snapshot);
        break;
    case MANIFEST:
        result = sds_manifest_parse(text, &doc.manifest, err);
        sds_manifest_doc_fini(&doc.manifest);
        break;
    case CATALOG:
        result = sds_catalog_parse(text, &doc.catalog, err);
        break;
    case REVISION:
        result = sds_revision_parse(text, &doc.revision, err);
        sds_revision_doc_fini(&doc.revision);
        break;
    case SET:
        result = sds_set_parse(text, &doc.set, err);
        sds_set_doc_fini(&doc.set);
        break;
    case KINDS:
        break;
    }
    return result;
}

#endif
