/* Sum of absolute differences of blocks, 16-bit and bytes. sizes: h=30, w=40 */
#include <stdint.h>
void block_differences(int h, int w, const uint8_t a[restrict 8 * h][8 * w],
                       const uint8_t b[restrict 8 * h][8 * w], uint16_t sad[restrict h][w])
{
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            unsigned s = 0;
            for (int i = 0; i < 8; i++)
                for (int j = 0; j < 8; j++) {
                    int d = a[8 * y + i][8 * x + j] - b[8 * y + i][8 * x + j];
                    s += d < 0 ? -d : d;
                }
            sad[y][x] = (uint16_t)s;
        }
}
