// SPDX-License-Identifier: Apache-2.0
// Heads of .npy files: any bytes are a header or a refusal, and a header that is read is one that
// can be written and read again.
#include <stdlib.h>

#include "format/tensor/npy.h"
#include "format/tensor/npy_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// assert() of a release build checks nothing.
#define CHECK(condition) ((condition) ? (void)0 : abort())

static void check_refusal(enum sds_kind kind, const struct sds_err *err) {
    CHECK(kind == SDS_ERR_INVALID && err->kind == kind);
    CHECK(err->check[0] != '\0' && err->message[0] != '\0');
}

static void check_again(const struct sds_npy *npy) {
    struct sds_buf head = SDS_BUF_INIT(1 << 20);
    struct sds_npy again;
    CHECK(sds_npy_header(npy->dtype, npy->shape, npy->rank, &head) == SDS_OK);
    CHECK(sds_npy_read(sds_buf_span(&head), head.len + npy->data_len, &again, NULL) == SDS_OK);
    CHECK(again.dtype == npy->dtype && again.rank == npy->rank);
    CHECK(memcmp(again.shape, npy->shape, npy->rank * sizeof *npy->shape) == 0);
    CHECK(again.data_off == head.len && again.data_len == npy->data_len);
    sds_buf_fini(&head);
}

// The last byte is how many bytes of data there are behind the others.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) {
        return 0;
    }
    struct sds_span head = sds_span(data, size - 1);
    uint64_t file_size = head.len + data[size - 1];
    struct sds_npy npy;
    struct sds_err err = {0};
    enum sds_kind kind = sds_npy_read(head, file_size, &npy, &err);
    size_t len = 0;
    if (kind != SDS_OK) {
        check_refusal(kind, &err);
        kind = sds_npy_head_len(head, &len, &err);
        CHECK(kind == SDS_OK ? len <= SDS_NPY_MAX_HEAD : len == 0);
        return 0;
    }
    CHECK(sds_npy_head_len(head, &len, NULL) == SDS_OK && len == npy.data_off);
    CHECK(npy.rank > 0 && npy.rank <= SDS_MAX_RANK && npy.data_off + npy.data_len == file_size);
    check_again(&npy);
    return 0;
}
