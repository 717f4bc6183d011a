/* The one function that is asked of this library, by the older one that does the same. */

__declspec(dllimport) unsigned char __stdcall SystemFunction036(void *buffer, unsigned long size);

__declspec(dllexport) int __stdcall ProcessPrng(unsigned char *buffer, unsigned long long size) {
    while (size > 0) {
        unsigned long part = size > 0x10000000 ? 0x10000000 : (unsigned long)size;
        if (!SystemFunction036(buffer, part)) return 0;
        buffer += part;
        size -= part;
    }
    return 1;
}
